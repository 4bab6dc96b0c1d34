import { randomBytes } from 'node:crypto';

/** The source of a provider's random values. In a simulation a seed decides them, so that a run can be repeated. */
export interface Chance {
  /** Returns a random number: at least 0 and less than 1. */
  number(): number;

  /** Returns this number of random bytes, as hexadecimal digits. */
  hex(bytes: number): string;

  /**
   * Returns 24 hexadecimal digits that are practically unique: 72 random bits, and a number of 24 bits that counts the
   * calls.
   *
   * Two results of one turn of the event loop differ in that number. The number repeats only after 2^24 results, and no
   * turn begins so many requests. The results of two turns or of two programs differ, unless their random bits are
   * equal.
   */
  unique(): string;

  /**
   * Whether the process learns that an object was garbage-collected. No seed decides when that happens, so a simulated
   * process in virtual time does not learn of it.
   */
  readonly seesCollections: boolean;
}

/** The random bits of the next `unique`; `undefined` if the next call must draw new ones. */
let bitsOfTurn: string | undefined;
let count = 0;

/** The lowest 24 bits of `count` as six hexadecimal digits. */
export const inSixDigits = (count: number): string => (count % 0x1_00_00_00).toString(16).padStart(6, '0');

export const systemChance: Chance = {
  number: () => Math.random(),
  hex: (bytes) => randomBytes(bytes).toString('hex'),
  // The random bits are drawn anew in each turn of the event loop, because a cloned process must not repeat an id of
  // the original (E34). To draw them for each id would take 5 % of the processor time of a cheap acquire (measured).
  unique: () => {
    if (bitsOfTurn === undefined) {
      bitsOfTurn = randomBytes(9).toString('hex');
      process.nextTick(() => (bitsOfTurn = undefined));
    }
    count += 1;
    return bitsOfTurn + inSixDigits(count);
  },
  seesCollections: true,
};
