import { describe, expect, it } from 'vitest';

import { firstGrants } from './first-grants.js';
import { checkLiveness } from './liveness-checker.js';
import {
  LOCK,
  MUTEX,
  asked,
  at,
  changed,
  granted,
  held,
  history,
  permits,
  released,
  UPGRADEABLE,
} from './written-history.js';
import type { Lines } from './written-history.js';

const LEASE_MS = 30;
const bounds = { boundMs: 1_000, slackMs: 100, lostSlackMs: 50 };

type Run = NonNullable<Parameters<typeof history>[1]>;

const found = (workers: readonly Lines[], run: Run = []): readonly string[] =>
  checkLiveness(history(workers, run, LEASE_MS), bounds).map(({ invariant, what }) => `${invariant} ${what}`);

const notGranted = (atMs: number, ask: number, code = 'ACQUIRE_TIMEOUT'): Lines => [
  [atMs, { type: 'not granted', ask, code, isKnown: code !== 'STORE_UNAVAILABLE' }],
];
const notChanged = (atMs: number, ask: number, code: string): Lines => [
  [atMs - 1, { type: 'changing', ask, to: 'write' }],
  [atMs, { type: 'not changed', ask, to: 'write', code }],
];
const lost = (atMs: number, ask: number, more: { readonly openNs?: string } = {}): Lines => [
  [atMs, { type: 'lost', ask, why: 'expired', ...more }],
];
const starved = (sinceMs: number, atMs: number): Lines[number] => [
  atMs,
  { type: 'starved', sinceNs: at(sinceMs) },
];
const stands = (fromMs: number, untilMs: number): Run => [
  [fromMs, { type: 'worker stands', worker: 0 }],
  [untilMs, { type: 'worker goes on', worker: 0 }],
];
const killed: Run = [[500, { type: 'worker killed', worker: 0 }]];
const stopped: Run = [
  [400, { type: 'healed' }],
  [500, { type: 'stopping' }],
];

type Fine = readonly [words: string, workers: readonly Lines[], run?: Run];
type Bad = readonly [what: string, words: RegExp, workers: readonly Lines[], run?: Run];

const fine = (all: readonly Fine[]): readonly Fine[] => all;
const bad = (all: readonly Bad[]): readonly Bad[] => all;

describe('the liveness checker', () => {
  for (const [words, workers, run] of fine([
    ['by grants and releases', [held(MUTEX, 1, 10, 20), held(MUTEX, 2, 30, 1_400)], stopped],
    [
      'by refusals, also with an unknown outcome',
      [
        [asked(1, 1, MUTEX, 0), ...notGranted(9, 1, 'BUSY')],
        [asked(1, 1, MUTEX, 0), ...notGranted(20, 1, 'STORE_UNAVAILABLE')],
        [asked(1, 1, MUTEX, 500), ...notGranted(30, 1, 'ABORTED')],
        [asked(1, 1, MUTEX, 200), ...notGranted(152, 1)],
      ],
    ],
    [
      'with a refused change of mode',
      [[asked(1, 1, UPGRADEABLE), granted(2, 1, 1, 90), ...notChanged(20, 1, 'BUSY'), ...released(30, 1)]],
    ],
    ['by the death of the worker', [[asked(1, 1), granted(2, 1, 1, 90), asked(3, 2)]], killed],
    [
      'by losses that are reported in time',
      [[asked(1, 1), granted(2, 1, 1, 90), ...lost(130, 1)], held(MUTEX, 2, 131, 140)],
    ],
    [
      'by answers in time for their timeouts',
      [
        [
          asked(1, 1, MUTEX, 200),
          ...notGranted(290, 1),
          asked(400, 2, MUTEX, 0),
          ...notGranted(450, 2, 'BUSY'),
        ],
      ],
    ],
    [
      'late, because its worker was paused',
      [[asked(1, 1, MUTEX, 200), ...notGranted(900, 1)]],
      stands(100, 850),
    ],
    [
      'with a late report of a loss, because its worker was paused',
      [[asked(1, 1), granted(2, 1, 1, 90), ...lost(900, 1)], held(MUTEX, 2, 95, 99)],
      stands(80, 890),
    ],
    [
      'with a doubtful hold, which is no loss',
      [[asked(1, 1), granted(2, 1, 1, 90), [20, { type: 'not held', ask: 1 }], ...released(99, 1)]],
    ],
    [
      'with the loss of a hold that was doubtful from its beginning',
      [[asked(1, 1), granted(2, 1, 1, 2), ...lost(900, 1)]],
    ],
    [
      'with a late report of a loss, because the machine gave its worker no time',
      [[asked(1, 1), granted(2, 1, 1, 90), starved(80, 840), ...lost(880, 1)], held(MUTEX, 2, 95, 99)],
    ],
    [
      'with the loss of a hold in doubt that had its deadline ahead after the end of its last promise',
      [[asked(1, 1), granted(2, 1, 1, 40), ...lost(110, 1, { openNs: at(61) })]],
    ],
    [
      'with a late report of a loss during a change of mode',
      [
        [
          asked(1, 1, UPGRADEABLE),
          granted(2, 1, 1, 90),
          [50, { type: 'changing', ask: 1, to: 'write' }],
          ...lost(900, 1),
        ],
      ],
    ],
  ])) {
    it(`accepts a history that ends ${words}`, () => {
      expect(found(workers, run)).toEqual([]);
    });
  }
});

describe('the liveness checker', () => {
  for (const [what, words, workers, run] of bad([
    ['a request that never ends', /^L1 .*ask 1 .*never ends/, [[asked(1, 1)]], stopped],
    [
      'a hold that is never released',
      /^L1 .*ask 1 .*never given back/,
      [[asked(1, 1), granted(2, 1, 1, 90)]],
    ],
    [
      'a hold that is never released, although only another worker was killed',
      /^L1/,
      [[], [asked(1, 1), granted(2, 1, 1, 90)]],
      killed,
    ],
    ['a hold that ends after the bound', /^L1 .*ends at 1501/, [held(MUTEX, 1, 10, 1_500)], stopped],
    [
      'a timed request that is answered too late',
      /^L1 .*with 200 ms .* 101.0 ms too late/,
      [[asked(0, 1, MUTEX, 200), ...notGranted(301, 1)]],
    ],
    [
      'a timed request that is answered too late, although its worker was paused at another time',
      /^L1/,
      [[asked(0, 1, MUTEX, 200), ...notGranted(301, 1)]],
      stands(400, 500),
    ],
    ['a slow try', /^L1/, [[asked(0, 1, MUTEX, 0), ...notGranted(101, 1, 'BUSY')]]],
    [
      'a timed request that gives up too early',
      /^L1 .*with 200 ms of time fails with ACQUIRE_TIMEOUT after 149.0 ms/,
      [[asked(1, 1, MUTEX, 200), ...notGranted(150, 1)]],
    ],
    [
      'a timed request of a quorum that gives up too early',
      /^L1 .*with 200 ms of time fails with QUORUM after 149.0 ms/,
      [[asked(1, 1, MUTEX, 200), ...notGranted(150, 1, 'QUORUM')]],
    ],
    [
      'a wait without a timeout that times out',
      /^R2 .*ask 1, unbounded, is refused by ACQUIRE_TIMEOUT/,
      [[asked(1, 1), ...notGranted(9_000, 1)]],
    ],
    [
      'a wait that ends because of the store',
      /^R2 .*ask 1, timed, is refused by STORE_UNAVAILABLE/,
      [[asked(1, 1, MUTEX, 200), ...notGranted(210, 1, 'STORE_UNAVAILABLE')]],
    ],
    [
      'a try that times out',
      /^R2 .*ask 1, try, is refused by ACQUIRE_TIMEOUT/,
      [[asked(1, 1, MUTEX, 0), ...notGranted(2, 1)]],
    ],
    [
      'a request that is refused because of another kind',
      /^R2 .*refused by LOCK_KIND_MISMATCH/,
      [[asked(1, 1, MUTEX, 200), ...notGranted(9, 1, 'LOCK_KIND_MISMATCH')]],
    ],
    [
      'a change of mode that is refused without a good reason',
      /^R2 .*worker 0, ask 1: the change to write is refused by LOCK_MODE/,
      [
        [
          asked(1, 1, UPGRADEABLE),
          granted(2, 1, 1, 90),
          ...notChanged(20, 1, 'LOCK_MODE'),
          ...released(30, 1),
        ],
      ],
    ],
    [
      'a late report of a loss',
      /^L4 .*told its loss at 141.0 ms, promised until 90/,
      [[asked(1, 1), granted(2, 1, 1, 90), ...lost(141, 1)]],
    ],
    [
      'a late report of a loss while the hold is being released',
      /^L4 .*told its loss at 141.0 ms, promised until 90/,
      [[asked(1, 1), granted(2, 1, 1, 90), [80, { type: 'releasing', ask: 1 }], ...lost(141, 1)]],
    ],
    [
      'a late report of a loss, of which the machine has delayed only a part',
      /^L4 .*told its loss at 901.0 ms, promised until 90/,
      [[asked(1, 1), granted(2, 1, 1, 90), starved(80, 850), ...lost(901, 1)]],
    ],
    [
      'a late report of a loss, although it was in doubt for long',
      /^L4 .*told its loss at 211.0 ms, open at 100/,
      [[asked(1, 1), granted(2, 1, 1, 40), ...lost(211, 1, { openNs: at(200) })]],
    ],
    [
      'a late report of a loss in doubt',
      /^L4 .*told its loss at 111.0 ms, open at 60/,
      [[asked(1, 1), granted(2, 1, 1, 40), ...lost(111, 1, { openNs: at(60) })]],
    ],
    [
      'a loss that is never reported',
      /^L4 .*is over at 95.0 ms, and its loss is never told/,
      [[asked(1, 1), granted(2, 1, 1, 90), [95, { type: 'not held', ask: 1 }], ...released(99, 1)]],
    ],
    [
      'a loss that is reported after the next grant',
      /^L4 .*after .*worker 1/,
      [[asked(1, 1), granted(2, 1, 1, 90), ...lost(130, 1)], held(MUTEX, 2, 129, 140)],
    ],
    [
      'a loss of permits that is reported after the next grant',
      /^L4 .*ask 1, token 1, .*after .*worker 2/,
      [
        [asked(1, 1, permits(2)), granted(2, 1, 1, 90), ...lost(130, 1)],
        held(permits(1), 2, 5, 200),
        held(permits(1), 3, 129, 140),
      ],
    ],
    [
      'a complaint of a worker',
      /^R2 .*worker 0 .*unhandled/,
      [[[5, { type: 'complaint', what: 'unhandled rejection' }]]],
    ],
    [
      'a grant of a request that is known to be refused',
      /^R2 .*known not to be/,
      [[asked(1, 1, MUTEX, 5), granted(2, 1, 1, 90), ...notGranted(3, 1, 'ABORTED'), ...released(4, 1)]],
    ],
  ])) {
    it(`finds ${what}`, () => {
      const wrong = found(workers, run);
      expect(wrong).toHaveLength(1);
      expect(wrong[0]).toMatch(words);
      expect(wrong[0]).toMatch(/worker|lock/);
    });
  }

  it('finds a late report of a loss after a change of mode is over', () => {
    const late: Lines = [
      ...[asked(1, 1, UPGRADEABLE), granted(2, 1, 1, 90), ...changed(50, 1, 2, 'write')],
      ...lost(1_101, 1),
    ];
    expect(found([late])).toEqual([expect.stringMatching(/^L4/)]);
  });
});

it('the liveness checker accepts a late report of a loss beyond the bounds', () => {
  const late = history([[asked(1, 1), granted(2, 1, 1, 90), ...lost(130, 1)], held(MUTEX, 2, 129, 140)]);
  const beyond = (lock: string, fromNs: bigint): boolean => lock === LOCK && fromNs === BigInt(at(129));
  expect(checkLiveness(late, bounds, beyond)).toEqual([]);
});

it('the first grant after the end of a primary is one of a later term', () => {
  const workers = [held(MUTEX, 1, 10, 20), [...held(MUTEX, 2, 120, 130), ...held(MUTEX, 3, 350, 360)]];
  const gone = (fault: number, atMs: number, term: number): Run[number] => [
    atMs,
    { type: 'primary gone', fault, term },
  ];
  const grants = [1, 2, 3].map((token) => ({
    ...{ lock: LOCK, id: `w${token}`, token, wallMs: 0 },
    // The old primary gave the second grant, which the worker heard of later.
    term: token < 3 ? 1 : 2,
  }));
  expect(firstGrants(history(workers, [gone(1, 100, 1), gone(7, 400, 2)]), grants)).toEqual([
    { fault: 1, ms: 250, sinceElectionMs: null },
    { fault: 7, ms: null, sinceElectionMs: null },
  ]);
  expect(BigInt(at(350)) - BigInt(at(100))).toBe(250_000_000n);
});

it('the end of a timed request may be as late as its own time allows', () => {
  const lines = [
    asked(1, 1, MUTEX, 200),
    ...notGranted(251, 1),
    asked(300, 2, MUTEX, 200),
    ...notGranted(550, 2),
  ];
  const disturbedNs = Number(at(280));
  const slackMs = (askedNs: number): number => (askedNs < disturbedNs ? 49 : 50);
  expect(checkLiveness(history([lines]), { ...bounds, slackMs }).map(({ what }) => what)).toEqual([
    expect.stringMatching(/ask 1 with 200 ms .* too late/),
  ]);
});

it('the liveness checker finds a loss that is reported after the next grant, if its worker ran for long before the grant', () => {
  const lines = [asked(1, 1), granted(2, 1, 1, 90), starved(80, 600), ...lost(1_080, 1)];
  const foundFor = (grantedMs: number): readonly string[] =>
    checkLiveness(history([lines, held(MUTEX, 2, grantedMs, 1_100)]), { ...bounds, lostSlackMs: 1_000 }).map(
      ({ invariant, what }) => `${invariant} ${what}`,
    );
  expect(foundFor(900)).toEqual([expect.stringMatching(/^L4 .*told its loss at 1080.* after .*worker 1/)]);
  expect(foundFor(650)).toEqual([]);
});
