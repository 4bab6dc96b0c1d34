import { describe, expect, it } from 'vitest';

import { eventually } from '../../../lab/patience.js';
import { untilTestEnds } from '../../support/current-test.js';
import { Fleet, resultOf, untilPrinted, useCommandLine } from './command-line.js';

useCommandLine();

const lines = (text: string): readonly unknown[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);

describe.concurrent('leasehold ls', () => {
  it('lists the locks that begin with a prefix, as a table and as snapshots', async () => {
    const fleet = new Fleet();
    untilTestEnds(await fleet.locks.acquireMutex('a:1', { why: 'a reason' }));
    await (await fleet.locks.createSemaphore('a:2', 3).acquire()).release();
    await (await fleet.locks.acquireMutex('b')).release();
    const { code, stdout } = await fleet.call('ls', 'a:');
    expect(code).toBe(0);
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 4))).toEqual([
      ['NAME', 'KIND', 'HELD', 'WAITING'],
      ['a:1', 'mutex', '1', '0'],
      ['a:2', 'semaphore', '0/3', '0'],
      [''],
    ]);
    const rows = lines((await fleet.call('ls', '--json')).stdout);
    expect(rows).toMatchObject([
      { name: 'a:1', kind: 'mutex', holders: [{ why: 'a reason' }], waiters: [] },
      { name: 'a:2', kind: 'semaphore', limit: 3, holders: [] },
      { name: 'b' },
    ]);
    expect(lines((await fleet.call('ls', '--held', '--json')).stdout)).toHaveLength(1);
  });

  it('says which document is corrupt, prints the others, and ends with 70', async () => {
    const fleet = new Fleet();
    for (const name of ['a', 'b']) await (await fleet.locks.acquireMutex(name)).release();
    await fleet.database.plain.tamper('a', { $set: { queue: 'none' } });
    const { code, stdout, stderr } = await fleet.call('ls', '--json');
    expect(code).toBe(70);
    expect(stderr).toContain('"a" is corrupt');
    expect(lines(stdout)).toMatchObject([{ name: 'b' }]);
  });

  it('without a terminal, prints a long name whole, and pads no other row to it', async () => {
    const fleet = new Fleet();
    for (const name of ['a', '\u001b'.repeat(1_024)]) await (await fleet.locks.acquireMutex(name)).release();
    const { stdout } = await fleet.call('ls');
    const [, long = '', short = ''] = stdout.split('\n').map((line) => line.trimEnd());
    expect(long).toContain(`${'\\u{1b}'.repeat(1_024)}  mutex`);
    expect(short).toMatch(/^a {2,45}mutex/);
  });

  it('shows control characters, escape sequences and bidi characters of names and reasons escaped', async () => {
    const fleet = new Fleet();
    const name = 'x\u001b]0;title\u0007\u009b31m\u202e\n\u3164\u2800\u034f\ufe0f\u00a0\u2004end ';
    untilTestEnds(await fleet.locks.acquireMutex(name, { why: 'w\u001b[2J\u2066' }));
    const shown = await Promise.all(
      [
        ['ls'],
        ['show', name],
        ['ls', '--json'],
        ['show', 'no\u001b[2Jne'],
        ['run', name, '-n', '--', 'true'],
      ].map((args) => fleet.call(...args)),
    );
    for (const { stdout, stderr } of shown) {
      expect(stdout + stderr).not.toMatch(
        /[^\P{Cc}\n]|\p{Cf}|\p{Default_Ignorable_Code_Point}|[\u2800\u00a0\u2004]/u,
      );
    }
    expect(shown[0]?.stdout).toContain(
      'x\\u{1b}]0;title\\u{7}\\u{9b}31m\\u{202e}\\u{a}\\u{3164}\\u{2800}\\u{34f}\\u{fe0f}\\u{a0}\\u{2004}end\\u{20}',
    );
    expect(lines(shown[2]?.stdout ?? '')).toMatchObject([{ name }]);
  });
});

it('messages show line breaks of labels and reasons escaped, so that no process can write a line of its own', async () => {
  const fleet = new Fleet();
  const other = fleet.database.plain.provider({ label: 'x\nleasehold: forged' });
  untilTestEnds(await other.acquireMutex('x', { why: 'y\nleasehold: forged' }));
  for (const args of [
    ['wait', 'x', '-w', '3s'],
    ['run', 'x', '-n', '--', 'true'],
  ]) {
    const { code, stderr } = await fleet.call(...args);
    expect(code).toBe(75);
    expect(stderr).toContain('x\\u{a}leasehold: forged');
    expect(stderr.trim().split('\n')).toHaveLength(1);
  }
});

it('leasehold top without a terminal does as ls: it says which documents are corrupt, and ends with 70', async () => {
  const fleet = new Fleet();
  for (const name of ['a', 'b', 'c']) await (await fleet.locks.acquireMutex(name)).release();
  for (const name of ['a', 'b']) await fleet.database.plain.tamper(name, { $set: { queue: 'none' } });
  const { code, stdout, stderr } = await fleet.call('top', '--json');
  expect(code).toBe(70);
  expect(stderr).toContain('"a" is corrupt');
  expect(stderr).toContain('"b" is corrupt');
  expect(lines(stdout)).toMatchObject([{ name: 'c' }]);
});

describe.concurrent('leasehold show', () => {
  it('shows holders and queue', async () => {
    const fleet = new Fleet();
    await using held = await fleet.locks.acquireMutex('x', { why: 'first' });
    const second = fleet.locks.acquireMutex('x', { why: 'second' });
    await fleet.untilQueued('x');
    const { stdout } = await fleet.call('show', 'x');
    expect(stdout).toContain(held.id);
    expect(stdout).toContain('first');
    expect(stdout).toContain('second');
    const [row] = lines((await fleet.call('show', 'x', '--json')).stdout);
    expect(row).toMatchObject({
      name: 'x',
      holders: [{ id: held.id, token: held.fencingToken }],
      waiters: [{ why: 'second' }],
    });
    await held.release();
    await (await second).release();
  });

  it('shows a lock although its texts are stored as other types, and none of those', async () => {
    const fleet = new Fleet();
    untilTestEnds(await fleet.locks.acquireMutex('x', { why: 'w' }));
    await fleet.database.plain.tamper('x', {
      $set: { 'holder.why': 7, 'holder.label': { a: 1 } },
    });
    for (const command of ['show', 'ls', 'top']) {
      const { code, stdout, stderr } = await fleet.call(...(command === 'show' ? ['show', 'x'] : [command]));
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain('mutex');
      expect(stdout).not.toContain('object');
    }
  });

  it('ends with 1 for an unknown lock, and prints no data', async () => {
    expect(await new Fleet().call('show', 'x', '--json')).toMatchObject({ code: 1, stdout: '' });
  });
});

describe.concurrent('leasehold wait', () => {
  it('ends with 0 when the lock is free or unknown', async () => {
    const fleet = new Fleet();
    expect((await fleet.call('wait', 'x', '-w', '0')).code).toBe(0);
    const held = await fleet.locks.acquireMutex('x');
    const child = fleet.start('wait', 'x');
    await eventually('it listens', async () => {
      const { inprog } = (await fleet.database.plain.client
        .db('admin')
        .command({ currentOp: 1, $all: true, ns: `${fleet.database.name}.distributed.locks` })) as {
        inprog: readonly object[];
      };
      return inprog.some((each) => JSON.stringify(each).includes('$changeStream'));
    });
    expect(child.hasEnded).toBe(false);
    await held.release();
    expect((await resultOf(child)).code).toBe(0);
  });

  it('ends with 75 when its time is up, and says who holds the lock', async () => {
    const fleet = new Fleet();
    untilTestEnds(await fleet.locks.acquireMutex('x', { why: 'the test' }));
    const { code, stderr } = await fleet.call('wait', 'x', '-w', '3s');
    expect(code).toBe(75);
    expect(stderr).toContain('the test');
  });
});

describe.concurrent('leasehold watch', () => {
  it('prints a row for each change, until a signal', async () => {
    const fleet = new Fleet();
    const first = await fleet.locks.acquireMutex('x');
    const child = fleet.start('watch', 'x', '--json');
    await untilPrinted(child, '\n');
    await first.release();
    await eventually('the release is printed', () => lines(child.stdout).length === 2);
    const second = await fleet.locks.acquireMutex('x');
    await eventually('the next grant is printed', () => lines(child.stdout).length === 3);
    expect(lines(child.stdout)).toMatchObject([
      { holders: [{ id: first.id }] },
      { holders: [] },
      { holders: [{ id: second.id }] },
    ]);
    child.signal('SIGINT');
    expect((await resultOf(child)).code).toBe(130);
    await second.release();
  });
});

describe.concurrent('leasehold revoke', () => {
  it('asks the holders, and tells them why', async () => {
    const fleet = new Fleet();
    await using held = await fleet.locks.acquireMutex('x');
    const { code, stdout } = await fleet.call('revoke', 'x', '--why', 'a drill', '--json');
    expect(code).toBe(0);
    expect(lines(stdout)).toEqual([{ asked: [held.id], gone: [], evicted: [] }]);
    await eventually('the holder hears it', () => held.releaseRequested.aborted);
    expect(String(held.releaseRequested.reason)).toContain('a drill');
  });

  it('takes the seat away with --force, of one hold with --id', async () => {
    const fleet = new Fleet();
    const permits = fleet.locks.createSemaphore('x', 2);
    const [first, second] = await Promise.all([permits.acquire(), permits.acquire()]);
    const { stdout } = await fleet.call('revoke', 'x', '--force', '--id', first.id, '--json');
    expect(lines(stdout)).toEqual([{ asked: [], gone: [], evicted: [first.id] }]);
    expect((await fleet.locks.inspect('x'))?.holders).toMatchObject([{ id: second.id }]);
    await second.release();
  });

  it('ends with 0 and empty lists for an unknown lock', async () => {
    const { code, stdout } = await new Fleet().call('revoke', 'x', '--json');
    expect({ code, rows: lines(stdout) }).toEqual({ code: 0, rows: [{ asked: [], gone: [], evicted: [] }] });
  });
});

describe.concurrent('leasehold resize', () => {
  it('sets the limit of a semaphore', async () => {
    const fleet = new Fleet();
    untilTestEnds(await fleet.locks.createSemaphore('x', 2).acquire());
    expect((await fleet.call('resize', 'x', '5')).code).toBe(0);
    expect(await fleet.locks.inspect('x')).toMatchObject({ limit: 5 });
    expect(lines((await fleet.call('resize', 'x', '6', '--json')).stdout)).toMatchObject([{ limit: 6 }]);
  });

  it('ends with 1 if no semaphore is stored, and with 78 if the lock is of another kind', async () => {
    const fleet = new Fleet();
    expect((await fleet.call('resize', 'x', '5')).code).toBe(1);
    await (await fleet.locks.acquireMutex('idle')).release();
    expect((await fleet.call('resize', 'idle', '5')).code).toBe(78);
    expect(await fleet.locks.inspect('idle')).toMatchObject({ kind: 'mutex' });
    untilTestEnds(await fleet.locks.acquireMutex('x'));
    expect((await fleet.call('resize', 'x', '5')).code).toBe(78);
  });
});
