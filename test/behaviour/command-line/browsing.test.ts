import { describe, expect, it } from 'vitest';

import { isLocalHost, whyLate } from '../../../src/cli/browsing.js';

const hosts = [
  'localhost:80',
  '127.0.0.1',
  '[::1]:80',
  '10.0.0.1',
  '[2001:db8::1]',
  'box.lan',
  'evil.example',
];

const accepted = (given: string, listensOn: string): readonly string[] =>
  hosts.filter((host) => isLocalHost(host, { given, listensOn }));

const LOOPBACK = ['localhost:80', '127.0.0.1', '[::1]:80'];

describe('the hosts that the dashboard accepts', () => {
  it('are those of the loopback address if it listens on it', () => {
    expect(accepted('127.0.0.1', '127.0.0.1')).toEqual(LOOPBACK);
    expect(accepted('::1', '::1')).toEqual(LOOPBACK);
  });

  it('are also the given name and the address of that name', () => {
    expect(accepted('BOX.lan', '10.0.0.1')).toEqual([...LOOPBACK, '10.0.0.1', 'box.lan']);
  });

  it('are also the given address in any spelling', () => {
    expect(accepted('10.1', '10.0.0.1')).toEqual([...LOOPBACK, '10.0.0.1']);
    expect(accepted('2001:db8:0::1', '2001:db8::1')).toEqual([...LOOPBACK, '[2001:db8::1]']);
    expect(accepted('fe80::1%eth0', 'fe80::1%eth0')).toEqual(LOOPBACK);
  });

  it('are all IP addresses if it listens on all addresses, and no name but localhost', () => {
    const addresses = [...LOOPBACK, '10.0.0.1', '[2001:db8::1]'];
    for (const [given, listensOn] of [
      ['0.0.0.0', '0.0.0.0'],
      ['0', '0.0.0.0'],
      ['::0', '::'],
      ['box.lan', '::'],
      ['::ffff:0.0.0.0', '::ffff:0.0.0.0'],
    ] as const)
      expect([given, accepted(given, listensOn)]).toEqual([given, addresses]);
  });
});

it('snaps are named as a reason for a late browser on Linux only', () => {
  expect(whyLate('linux', '/tmp')).toMatch(/slow, or a snap, which cannot read \/tmp \(TMPDIR/);
  for (const platform of ['darwin', 'win32', 'freebsd'] as const)
    expect(whyLate(platform, '/tmp')).toBe('it may be slow');
});
