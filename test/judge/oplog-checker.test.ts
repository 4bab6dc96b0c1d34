import { describe, expect, it } from 'vitest';

import { checkGranted } from './oplog-checker.js';
import type { Grant } from './oplog-checker.js';
import { LOCK, UPGRADEABLE, asked, changed, granted, history } from './written-history.js';
import {
  WALL_MS,
  judged,
  lease,
  live,
  member,
  mutex,
  over,
  queue,
  reader,
  readerWriter,
  semaphore,
  upgradeable,
  writer,
  writers,
} from './written-versions.js';
import type { Versions } from './written-versions.js';

const named = (list: readonly (readonly [words: string, ...versions: Versions])[]): typeof list => list;

describe('the version judge', () => {
  for (const [words, ...versions] of named([
    [
      'a hand-over',
      mutex(lease('wa', 1), { queue: queue('wb', 'wc') }),
      mutex(lease('wb', 2), { wake: ' -wa:1 p:wb:2', queue: queue('wc') }),
    ],
    [
      'a grant that passes over a waiter that is gone',
      mutex(lease('wa', 1), { queue: queue('wb', 'wc') }),
      mutex(lease('wc', 2), { wake: ' -wa:1' }),
    ],
    ['an expired lease', mutex(lease('wa', 1, { expiresAt: over })), mutex(lease('wb', 2))],
    ['an eviction', mutex(lease('wa', 1)), mutex(null, { fence: 1, wake: ' p:wa:0' })],
    [
      'a purge, after which tokens go on rising',
      mutex(lease('wa', 5, { expiresAt: over })),
      null,
      mutex(lease('wb', 6)),
    ],
    [
      'a limit that is lowered below the permits that are held',
      semaphore(3, [lease('wa', 1, { permits: 3 })]),
      semaphore(2, [lease('wa', 1, { permits: 3 })]),
    ],
    [
      'readers that are admitted together, in the order of the queue',
      readerWriter([], {
        ...writer('wa', 1),
        fence: 1,
        queue: { wb: { ...member, mode: 'read' }, wc: { ...member, mode: 'read' } },
      }),
      readerWriter([reader('wb', 2), reader('wc', 3)], { wake: ' -wa:1' }),
    ],
    [
      'an upgrade and its downgrade',
      readerWriter([upgradeable({ change: 1, upgrading: true }), reader('wr', 2)]),
      readerWriter([], { wake: ' -wr:2', fence: 10, ...writer('wu', 10, { change: 1 }) }),
      readerWriter([upgradeable({ change: 2, token: 11, upgrading: false })], { fence: 11 }),
    ],
    [
      'a waiter whose place has lapsed and whose request, repeated, queues it again at the end',
      mutex(lease('wa', 1), {
        queue: { wb: { ...member, since: new Date(WALL_MS - 2_000), expiresAt: over }, ...queue('wc') },
      }),
      mutex(lease('wa', 1), { queue: { ...queue('wc'), wb: { ...member, since: new Date(WALL_MS) } } }),
    ],
    ['an extension', mutex(lease('wa', 1)), mutex(lease('wa', 1, { expiresAt: new Date(WALL_MS + 9_000) }))],
  ])) {
    it(`accepts ${words}`, () => {
      expect(judged(versions).violations).toEqual([]);
    });
  }

  it('accepts a document that vanishes with its holder only if documents may be lost', () => {
    const versions = [mutex(lease('wa', 5)), null, mutex(lease('wb', 6))];
    expect(judged(versions, true).violations).toEqual([]);
    expect(judged(versions).violations).toEqual([
      expect.objectContaining({
        invariant: 'S5',
        what: expect.stringMatching(/vanishes with wa in it/) as unknown,
      }),
    ]);
  });

  it('lists the grants in their order', () => {
    const versions = [
      readerWriter([reader('wb', 3), upgradeable()], { queue: writers('wc') }),
      null,
      mutex(lease('wz', 12)),
    ];
    const judge = judged(versions, true);
    const { grants } = judge;
    const both = { lock: LOCK, term: 4, wallMs: WALL_MS };
    expect(grants).toMatchObject([
      { ...both, id: 'wu', token: 1, mode: 'upgradeable' },
      { ...both, id: 'wb', token: 3, mode: 'read' },
      { ...both, id: 'wz', token: 12 },
    ]);
    expect(judge.versions).toBe(3);
  });
});

const planted = (
  list: readonly (readonly [words: string, wrong: RegExp, ...versions: Versions])[],
): typeof list => list;

describe('the version judge', () => {
  for (const [words, wrong, ...versions] of planted([
    [
      'a writer beside a reader',
      /^S1 .*writer excludes nobody/,
      readerWriter([reader('wa', 1)], writer('wb', 2)),
    ],
    [
      'two upgradeable readers',
      /^S1 .*more than one upgradeable/,
      readerWriter([upgradeable(), lease('wx', 2, { mode: 'upgradeable' })]),
    ],
    ['an attempt that holds and waits', /^S1 .*twice/, mutex(lease('wa', 1), { queue: queue('wa') })],
    [
      'more permits than the limit',
      /^S1 .*4 permits of 3/,
      semaphore(3, [lease('wa', 1, { permits: 2 })]),
      semaphore(3, [lease('wa', 1, { permits: 2 }), lease('wb', 10, { permits: 2 })], { fence: 10 }),
    ],
    ['a document that is no lock', /^S1 .*no lock document/, { _id: LOCK, kind: 'mutex' }],
    ['a seat that stays empty', /^L2 .*wb waits/, mutex(null, { fence: 1, queue: queue('wb') })],
    [
      'a token given again after a release',
      /^S3 .*wb has token 1 after 1/,
      mutex(lease('wa', 1)),
      mutex(lease('wb', 1), { wake: ' -wa:1' }),
    ],
    [
      'a lower token after a drop',
      /^S3 .*wb has token 4 after 5/,
      mutex(lease('wa', 5, { expiresAt: over })),
      null,
      mutex(lease('wb', 4)),
    ],
    [
      'a fence that falls',
      /^S3 .*fence falls from 9 to 0/,
      mutex(null, { fence: 9 }),
      mutex(null, { fence: 0 }),
    ],
    [
      'a token above the fence',
      /^S3 .*the fence is 1, wb has token 2/,
      mutex(lease('wa', 1)),
      mutex(lease('wb', 2), { fence: 1, wake: ' -wa:1' }),
    ],
    [
      'one token for two leases',
      /^S3 .*one token/,
      semaphore(3, [lease('wa', 1, { permits: 1 }), lease('wb', 1, { permits: 1 })]),
    ],
    ['a token that is not an exact number', /^S3 .*no exact number/, mutex(lease('wa', 2 ** 53))],
    [
      'a purge that is moved to an earlier time',
      /^S3 .*purgeAt is lowered/,
      mutex(null, { fence: 1 }),
      mutex(null, { fence: 1, purgeAt: new Date(WALL_MS + 1) }),
    ],
    [
      'a purge before the expiry of a waiter',
      /^S3 .*is before an expiry/,
      mutex(lease('wa', 1), { queue: queue('wb'), purgeAt: over }),
    ],
    [
      'a second waiter that is admitted before the first',
      /^L3 .*wc overtakes wb/,
      mutex(lease('wa', 1), { queue: queue('wb', 'wc') }),
      mutex(lease('wc', 2), { wake: ' -wa:1', queue: queue('wb') }),
    ],
    [
      'an attempt that overtakes a waiter without having waited',
      /^L3 .*wx overtakes wb/,
      mutex(lease('wa', 1), { queue: queue('wb') }),
      mutex(lease('wx', 2), { wake: ' -wa:1', queue: queue('wb') }),
    ],
    ['an expired waiter that is admitted', /^L3 .*wb comes in/, mutex(lease('wb', 1, { acquiredAt: live }))],
    [
      'a queue that changes its order',
      /^L3 .*wc passes wb/,
      mutex(lease('wa', 1), { queue: queue('wb', 'wc') }),
      mutex(lease('wa', 1), { queue: queue('wc', 'wb') }),
    ],
    [
      'a waiter that is queued again at the end although its place has not lapsed',
      /^L3 .*wc passes wb/,
      mutex(lease('wa', 1), {
        queue: { wb: { ...member, since: new Date(WALL_MS - 2_000) }, ...queue('wc') },
      }),
      mutex(lease('wa', 1), { queue: { ...queue('wc'), wb: { ...member, since: new Date(WALL_MS) } } }),
    ],
    [
      'a newcomer that is queued before the waiters',
      /^L3 .*wx passes wb/,
      mutex(lease('wa', 1), { queue: queue('wb') }),
      mutex(lease('wa', 1), { queue: queue('wx', 'wb') }),
    ],
    [
      'readers whose tokens do not follow the queue',
      /^L3 .*lower token/,
      readerWriter([], {
        ...writer('wa', 1),
        fence: 1,
        queue: { wb: { ...member, mode: 'read' }, wc: { ...member, mode: 'read' } },
      }),
      readerWriter([reader('wb', 3), reader('wc', 2)], { wake: ' -wa:1' }),
    ],
    [
      'a reader that is admitted before an upgrade',
      /^L3 .*wr overtakes the upgrade of wu/,
      readerWriter([upgradeable({ change: 1, upgrading: true }), reader('wx', 2)]),
      readerWriter([upgradeable({ change: 1, upgrading: true }), reader('wx', 2), reader('wr', 10)], {
        fence: 10,
      }),
    ],
    [
      'a lease whose process changes',
      /^S5 .*process of wa changes/,
      mutex(lease('wa', 1)),
      mutex(lease('wa', 1, { process: 'q' })),
    ],
    [
      'an expiry that moves back',
      /^S5 .*expiry of wa moves back/,
      mutex(lease('wa', 1)),
      mutex(lease('wa', 1, { expiresAt: over })),
    ],
    [
      'a mode that changes without a new token',
      /^S5 .*wu is moved without/,
      readerWriter([upgradeable()]),
      readerWriter([upgradeable({ mode: 'read' })]),
    ],
    [
      'a count of changes that falls',
      /^S5 .*count of changes/,
      readerWriter([upgradeable({ change: 2 })]),
      readerWriter([upgradeable({ change: 1 })]),
    ],
    [
      'a live lease that the release of another attempt removes',
      /^S5 .*wa loses its seat/,
      mutex(lease('wa', 1)),
      mutex(null, { fence: 1, wake: ' -wx:0' }),
    ],
    [
      'a lease that ends too early',
      /^S5 .*wa loses its seat/,
      mutex(lease('wa', 1, { expiresAt: new Date(WALL_MS + 100) })),
      mutex(lease('wb', 2)),
    ],
  ])) {
    it(`finds ${words}`, () => {
      const found = judged(versions).violations;
      expect(found.map(({ invariant, what }) => `${invariant} ${what}`)).toEqual([
        expect.stringMatching(wrong),
      ]);
      expect(found[0]?.what).toMatch(/^lock: .*term 4/);
    });
  }
});

describe('the check of the grants that workers report', () => {
  const worker = [asked(1, 1, UPGRADEABLE), granted(2, 1, 1, 90), ...changed(5, 1, 2, 'write')];
  const grant = (token: number, id = 'w1'): Grant => ({ lock: LOCK, id, token, term: 1, wallMs: 0 });

  it('accepts grants that are in the oplog', () => {
    expect(checkGranted(history([worker]), [grant(1), grant(2)])).toEqual([]);
  });

  it.each([
    ['was rolled back', [grant(2)], /token 1 of w1/],
    ['was given to another attempt', [grant(1, 'wx'), grant(2)], /token 1 of w1/],
    ['has a mode that was never given', [grant(1)], /token 2 of w1/],
  ])('finds a grant that %s, unless the lock is left out', (_, grants, words) => {
    const found = checkGranted(history([worker]), grants);
    expect(found).toMatchObject([{ invariant: 'S2', what: expect.stringMatching(words) as string }]);
    expect(checkGranted(history([worker]), grants, (lock) => lock === LOCK)).toEqual([]);
  });
});
