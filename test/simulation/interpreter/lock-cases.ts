import { readerWriterRules } from '../../../src/protocol/kinds/reader-writer-rules.js';
import type { Mode } from '../../../src/protocol/lock-document.js';
import type { Operation, Request } from '../../../src/protocol/operation.js';
import { enteringTogether, vacantDocument } from '../../../src/protocol/pipeline/entering-together.js';
import { extension } from '../../../src/protocol/pipeline/extension.js';
import { fastPath, leaving } from '../../../src/protocol/pipeline/fast-path.js';
import type { Entering } from '../../../src/protocol/pipeline/fast-path.js';
import { transition } from '../../../src/protocol/pipeline/transition.js';
import type { KindRules } from '../../../src/protocol/kind-rules.js';
import type { Random } from '../../../lab/random.js';
import {
  corruptionsOf,
  idleDocument,
  lockDocument,
  pathsOf,
  withValue,
} from '../../model/documents/corruptions.js';
import type { StoredDocument } from '../../model/documents/lock-document-driver.js';
import { ALL_SEATS } from '../../model/documents/lock-kinds.js';
import { DAY_MS, LEASE_MS, RETENTION_MS } from '../../model/documents/operations.js';
import { anyValue } from './random-values.js';
import type { Case } from './comparison.js';

export const IDS = ['wh', 'wr', 'w1', 'w2', 'w5', 'w9', 'w0a', '$holder', 'a.b', 'k'] as const;
const CANDIDATES = ['a', 'b', 'c', '$holder.id'] as const;
const JOBS = ['mail', 'report', 'job', '$x.y', '__proto__'] as const;
const TEXTS = [undefined, undefined, 'nightly', '$holder', '$$NOW', '🔒', ''] as const;

/** The clocks of a run: they are where leases and waiters of the documents begin and end. */
export const clocksOf = (startMs: number): readonly [number, ...number[]] => [
  startMs,
  ...[-3_600_000, 0, 100, LEASE_MS, 3_600_000, DAY_MS].flatMap((ms) => [
    startMs + ms - 1,
    startMs + ms,
    startMs + ms + 1,
  ]),
];

/** A document of this kind: in use, idle, or corrupt in one field or in several; `null`: there is none. */
export function drawDocument(
  random: Random,
  { kind }: KindRules,
  name: string,
  startMs: number,
): StoredDocument | null {
  const end = (): Date => new Date(random.pick(clocksOf(startMs)));
  const document = random.percent(30)
    ? idleDocument(kind, name)
    : lockDocument(kind, name, { holdersEnd: end(), waitersEnd: end() });
  const chance = random.between(1, 100);
  if (chance <= 12) return null;
  if (chance <= 55) return document;
  if (chance <= 75) {
    const corruptions = corruptionsOf(kind);
    const { path, value } = corruptions[random.between(0, corruptions.length - 1)] ?? { path: 'v', value: 2 };
    return withValue(document, path, value);
  }
  const paths = pathsOf(kind);
  return Array.from({ length: random.between(1, 3) }).reduce<StoredDocument>(
    (changed) => withValue(changed, paths[random.between(0, paths.length - 1)] ?? 'v', anyValue(random, 1)),
    document,
  );
}

function drawRequest(random: Random, nowMs: number): Request {
  const mode = random.pick<Mode>(['read', 'read', 'upgradeable', 'write']);
  const about = random.between(1, 5);
  return {
    id: random.pick(IDS),
    process: random.pick(['p0', 'p0', 'p1', 'p.2']),
    leaseMs: random.pick([100, LEASE_MS, LEASE_MS, DAY_MS / 2]),
    notAfter: new Date(nowMs + random.pick([60_000, 60_000, DAY_MS, 0, -1])),
    maxMembers: random.pick([1_000, 1_000, 2, 3]),
    retentionMs: random.pick([RETENTION_MS, 2 * DAY_MS]),
    label: random.pick(TEXTS),
    why: random.pick(TEXTS),
    keeps: random.pick([undefined, undefined, 0, 1, 999]),
    mode,
    permits: random.pick([1, 1, 2, 3]),
    limit: random.pick([undefined, 1, 2, 3, 4]),
    ...(about === 1 ? { mustMatch: true } : {}),
    ...(about === 2 ? { setsLimit: true } : {}),
    candidateId: random.pick(CANDIDATES),
    value: random.pick(['', '$$NOW', 'http://10.0.0.7']),
    transitionMs: random.pick([0, 1, LEASE_MS, DAY_MS / 2]),
  };
}

const NONCE = '7f';

const drawEntering = (random: Random, nowMs: number): Entering => ({
  type: random.pick(['enqueue', 'enqueue', 'try']),
  request: drawRequest(random, nowMs),
});

const drawIds = (random: Random): readonly string[] =>
  random.percent(10)
    ? [...IDS, ...Array.from({ length: 30 }, (_, index) => `wx${index}`)]
    : Array.from({ length: random.between(1, 4) }, () => random.pick(IDS));

/** One operation of any type. Those that only one kind has change nothing in the others. */
function drawOperation(random: Random, nowMs: number): Operation {
  const id = random.pick(IDS);
  const ids = drawIds(random);
  const revoking = { ids, by: random.pick([undefined, 'admin']), why: random.pick(TEXTS) };
  switch (random.between(1, 19)) {
    case 1:
      return { type: 'cancel', id };
    case 2:
    case 3:
      return { type: 'leave', id };
    case 4:
      return { type: 'extend', ids, leaseMs: LEASE_MS, retentionMs: RETENTION_MS, nonce: NONCE };
    case 5:
      return { type: 'ask', ...revoking };
    case 6:
      return { type: 'evict', ...revoking };
    case 7:
      return { type: 'raiseFence', id, token: random.pick([1, 5_000_001, 2 ** 50]), nonce: NONCE };
    case 8:
    case 9:
      return drawExchange(random, id);
    case 10:
      return {
        type: 'resize',
        limit: random.between(1, 5),
        notAfter: new Date(nowMs + random.pick([1_000, 0, -1])),
      };
    case 11:
      return { type: 'handOver', id, candidateId: random.pick(CANDIDATES) };
    case 12:
      return drawClaim(random, nowMs);
    case 13:
      return {
        ...{ type: 'conclude', id, job: random.pick(JOBS), instant: new Date(nowMs - 1_000) },
        ...{ outcome: random.pick(['completed', 'failed', 'missed']), nonce: NONCE },
      };
    case 14: {
      const until = new Date(nowMs + random.pick([60_000, 1, 0, -1]));
      return {
        type: 'call',
        job: random.pick(JOBS),
        since: random.pick([7, 0, null, 8]),
        until,
        nonce: NONCE,
      };
    }
    case 15:
      return {
        ...{ type: 'claimWithoutTerm', job: random.pick(JOBS), process: 'p0', retentionMs: RETENTION_MS },
        instant: new Date(nowMs + random.pick([-3_600_000, -1_000, 0, 1])),
        claimId: random.pick(['c', 'd', '$fence']),
        nonce: NONCE,
      };
    default:
      return drawEntering(random, nowMs);
  }
}

const drawExchange = (random: Random, id: string): Operation => ({
  type: 'exchange',
  id,
  change: random.between(1, 4),
  to: random.pick<Mode>(['read', 'upgradeable', 'write', 'write']),
  waits: random.percent(70),
  ...(random.percent(50) ? { knownToken: random.pick([1, 5_000_000, 2 ** 52]) } : {}),
});

const drawClaim = (random: Random, nowMs: number): Operation => ({
  type: 'claim',
  id: random.pick(['wh', 'wh', 'w9', '$holder']),
  token: random.pick([5_000_000, 5_000_000, 1]),
  job: random.pick(JOBS),
  instant: new Date(nowMs + random.pick([-1_000, 0, 1])),
  after: random.pick([null, new Date(nowMs - 3_600_000)]),
  claimId: random.pick(['c', 'd', '$fence']),
  nonce: NONCE,
  runs: random.percent(50),
  ...(random.percent(40) ? { call: random.pick([7, 8, 1]) } : {}),
});

/** An update of a lock document, as the library sends it at this time. */
export function drawUpdate(random: Random, rules: KindRules, name: string, nowMs: number): Case['update'] {
  const chance = random.between(1, 100);
  if (chance <= 70) {
    const operations = Array.from({ length: random.between(0, 3) }, () => drawOperation(random, nowMs));
    return [...transition(rules, operations, { takingOver: random.percent(25) })];
  }
  if (chance <= 80) return extensionOf(random);
  const entering = drawEntering(random, nowMs);
  if (chance <= 84) return { $setOnInsert: vacantDocument(rules, entering) };
  if (chance <= 90) return [...leaving(rules, drawIds(random))];
  if (chance <= 95) {
    const other: Entering = { ...entering, request: { ...entering.request, id: 'wother', label: '$other' } };
    return [
      ...enteringTogether(rules, [
        { name: 'other', operation: other },
        { name, operation: entering },
      ]),
    ];
  }
  return [...(fastPath(rules, entering, { creates: random.percent(50) })?.pipeline ?? [])];
}

function extensionOf(random: Random): Case['update'] {
  const kinds = random.percent(50) ? ALL_SEATS : [random.pick([readerWriterRules, ...ALL_SEATS])];
  return [...extension(kinds, drawIds(random), LEASE_MS, RETENTION_MS)];
}
