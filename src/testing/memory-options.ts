import { boolean, knownOptions, number, orElse, outOfRange, wrongType } from '../options/checks.js';
import type { KeysOf } from '../options/unknown-keys.js';
import { SeededChance } from './time/seeded-chance.js';
import { RealTime } from './time/real-time.js';
import type { Time } from './time/time.js';
import { VirtualTime } from './time/virtual-time.js';

/** Options of a {@link MemoryReplicaSet}. */
export interface MemoryReplicaSetOptions<Other = unknown> {
  /**
   * How time passes.
   *
   * - `real` (default): by the clock and the timers of this process.
   * - `virtual`: when `advance` is called. Without a call, time goes on only until the messages on their way have
   *   arrived. A message takes less than a millisecond.
   * - another `MemoryReplicaSet`: the two sets share one time. Use it for the simulated deployments of a quorum.
   */
  time?: 'real' | 'virtual' | Other | undefined;
  /**
   * Decides everything that is random: ids, pauses, how long each message takes, and in virtual time the wall clock at
   * the beginning. An integer from 0 to 2^32 - 1. Default: a random integer, which is printed to stderr.
   */
  seed?: number | undefined;
}

/** Options of `stepDown`. */
export interface StepDownOptions {
  /** The time until the next primary is elected, in ms. Default: 1,000. */
  electionMs?: number | undefined;
  /**
   * Whether the primary is cut off from the other members instead of stepping down. The old primary then goes on
   * answering until shortly after the election, and rolls back every write that no majority has. (`stop` ends the cut
   * early, and such a write may then stay.) Default: false.
   */
  losesUnacknowledged?: boolean | undefined;
}

const KEYS: KeysOf<MemoryReplicaSetOptions> = { time: true, seed: true };
const STEP_DOWN_KEYS: KeysOf<StepDownOptions> = { electionMs: true, losesUnacknowledged: true };

const DEFAULT_ELECTION_MS = 1_000;

/** The longest time of a call, in ms: ten years. */
export const MAX_MS = 315_360_000_000;

const MAX_SEED = 2 ** 32 - 1;

/** The first of January 2030. The virtual clock of a set begins up to a year later. */
const EPOCH_MS = 1_893_456_000_000;
const YEAR_MS = 31_536_000_000;

export function parseSeed(given: number | undefined, random: () => number): number {
  if (given !== undefined) {
    if (!Number.isInteger(given) || given < 0 || given > MAX_SEED) {
      throw outOfRange('seed', `an integer from 0 to ${String(MAX_SEED)}`, given);
    }
    return given;
  }
  const seed = Math.floor(random() * MAX_SEED);
  process.stderr.write(`MemoryReplicaSet: seed ${String(seed)}\n`);
  return seed;
}

export const parseKeys = <Other>(
  given: MemoryReplicaSetOptions<Other> | undefined,
): MemoryReplicaSetOptions<Other> => knownOptions(given, 'MemoryReplicaSet', KEYS);

interface StepDown {
  readonly electionMs: number;
  readonly losesUnacknowledged: boolean;
}

export function parseStepDown(given: StepDownOptions | undefined): StepDown {
  const { electionMs, losesUnacknowledged } = knownOptions(given, 'stepDown', STEP_DOWN_KEYS);
  return {
    electionMs: number('electionMs', orElse(electionMs, DEFAULT_ELECTION_MS), 0, MAX_MS),
    losesUnacknowledged: boolean('losesUnacknowledged', orElse(losesUnacknowledged, false)),
  };
}

/** @param timeOf - Returns the time of a `MemoryReplicaSet`; `undefined` for any other value. */
export function parseTime(given: unknown, seed: number, timeOf: (set: unknown) => Time | undefined): Time {
  if (given === undefined || given === 'real') return new RealTime();
  if (given === 'virtual') {
    const epochMs = EPOCH_MS + Math.floor(new SeededChance(seed, 'epoch').number() * YEAR_MS);
    return new VirtualTime(epochMs);
  }
  const shared = timeOf(given);
  if (shared === undefined) throw wrongType('time', "'real', 'virtual' or a MemoryReplicaSet", given);
  return shared;
}
