import { describe, expect, it } from 'vitest';

import { checkGranted } from './oplog-checker.js';
import type { Grant } from './oplog-checker.js';
import { LOCK, asked, granted, history } from './written-history.js';
import {
  judged,
  lease,
  mutex,
  othersQueue,
  over,
  queue,
  reader,
  readerWriter,
  semaphore,
  upgradeable,
} from './written-versions.js';
import type { Versions } from './written-versions.js';

type Case = readonly [words: string, ...versions: Versions];
type Planted = readonly [words: string, wrong: RegExp, ...versions: Versions];

const PENDING = { upgrading: true, change: 1 };

const right: readonly Case[] = [
  [
    'a kept lease, and the next lease',
    mutex(lease('wa', 1, { keeps: 9 }), { fence: 10 }),
    mutex(lease('wa', 1, { keeps: 9 }), { fence: 10, queue: othersQueue('wb'), wake: ' p:wa:-1' }),
    mutex(lease('wb', 11), { wake: ' -wa:1 p:wb:11' }),
  ],
  [
    'a kept lease, and another request of its process',
    mutex(lease('wa', 1, { keeps: 9 }), { fence: 10 }),
    mutex(lease('wa', 1, { keeps: 9 }), { fence: 10, queue: queue('wb') }),
  ],
  [
    'two leases with different reserves that are admitted together',
    semaphore(3, [lease('wa', 1, { permits: 1, keeps: 1 }), lease('wb', 11, { permits: 1, keeps: 9 })], {
      fence: 20,
    }),
  ],
  [
    'a keeper that is gone when another request queues behind the next lease',
    mutex(lease('wa', 1, { keeps: 9 }), { fence: 10, queue: queue('wb') }),
    mutex(lease('wb', 11, { keeps: 9 }), { fence: 20, queue: queue('wc'), wake: ' -wa:1 p:wb:11' }),
  ],
  [
    'a kept read, whose next token another lease has, and an upgrade that waits behind it',
    readerWriter([reader('wa', 8, { keeps: 1 })], { fence: 8 }),
    readerWriter([reader('wa', 8, { keeps: 1 }), { ...upgradeable(), token: 9 }], { fence: 9 }),
    readerWriter([reader('wa', 8, { keeps: 1 }), { ...upgradeable(PENDING), token: 9 }], {
      ...{ fence: 9, writerWaiting: true, wake: ' p:wa:-1' },
    }),
  ],
];

const planted: readonly Planted[] = [
  [
    'a token that another lease has reserved',
    /^S3 .*wb has token 10 after 10/,
    mutex(lease('wa', 1, { keeps: 9 }), { fence: 10 }),
    mutex(lease('wb', 10), { wake: ' -wa:1' }),
  ],
  [
    'a token that another lease had reserved, after a drop',
    /^S3 .*wb has token 10 after 10/,
    mutex(lease('wa', 1, { keeps: 9, expiresAt: over }), { fence: 10 }),
    null,
    mutex(lease('wb', 10)),
  ],
  [
    'reserved tokens above the fence',
    /^S3 .*the fence is 1, wa has token 10/,
    mutex(lease('wa', 1, { keeps: 9 }), { fence: 1 }),
  ],
  [
    'one token in the reserves of two leases',
    /^S3 .*wa and wb have one token, 9/,
    semaphore(3, [lease('wb', 9, { permits: 1 }), lease('wa', 1, { permits: 1, keeps: 8 })]),
  ],
  [
    'a lease that reserves more tokens than at its grant',
    /^S5 .*keeps of wa changes/,
    mutex(lease('wa', 1), { fence: 10 }),
    mutex(lease('wa', 1, { keeps: 9 }), { fence: 10 }),
  ],
  [
    'a keeper that is not told of an upgrade',
    /^L2 .*wu waits, and wa, which is kept, is not told/,
    readerWriter([reader('wa', 8, { keeps: 1 }), upgradeable()]),
    readerWriter([reader('wa', 8, { keeps: 1 }), upgradeable(PENDING)], { writerWaiting: true }),
  ],
  [
    'a keeper that is not told of a waiter',
    /^L2 .*wb waits, and wa, which is kept, is not told/,
    mutex(lease('wa', 1, { keeps: 9 }), { fence: 10 }),
    mutex(lease('wa', 1, { keeps: 9 }), { fence: 10, queue: othersQueue('wb'), wake: ' p:wa:0' }),
  ],
];

describe('the version judge', () => {
  for (const [words, ...versions] of right) {
    it(`accepts ${words}`, () => {
      expect(judged(versions).violations).toEqual([]);
    });
  }

  for (const [words, wrong, ...versions] of planted) {
    it(`finds ${words}`, () => {
      const found = judged(versions).violations;
      expect(found.map(({ invariant, what }) => `${invariant} ${what}`)).toEqual([
        expect.stringMatching(wrong),
      ]);
    });
  }
});

describe('a grant that a worker reports', () => {
  it('may have a token that a kept lease has reserved, and no other token', () => {
    const follower = [asked(1, 1), granted(2, 1, 9, 90)];
    const kept: Grant = { lock: LOCK, id: 'w9', token: 4, keeps: 5, term: 1, wallMs: 0 };
    expect(checkGranted(history([follower]), [kept])).toEqual([]);
    for (const wrong of [
      { ...kept, keeps: 4 },
      { ...kept, token: 10 },
      { ...kept, id: 'w4' },
    ]) {
      const what = expect.stringMatching(/token 9 of w9/) as string;
      expect(checkGranted(history([follower]), [wrong])).toMatchObject([{ invariant: 'S2', what }]);
    }
  });
});
