import { randomBytes } from 'node:crypto';

/**
 * What differs between two runs of the same program although the code, the time and the messages are the same. A
 * simulation draws it from a seed, so that a run can be repeated.
 */
export interface Chance {
  /** Returns a random number: at least 0 and less than 1. */
  number(): number;

  /** Returns this number of random bytes, as hexadecimal digits. */
  hex(bytes: number): string;

  /**
   * Returns 24 hexadecimal digits that no earlier call has returned: 72 random bits, and a number of 24 bits that
   * counts the calls.
   *
   * Within a turn of the event loop the number makes the results differ: no turn makes 2^24 calls, because each takes
   * memory. The results of two turns or two programs differ unless their random bits are equal.
   */
  unique(): string;

  /**
   * Whether the process learns that an object has been collected as garbage. No seed decides when that happens, so in a
   * simulation no process learns of it.
   */
  readonly seesCollections: boolean;
}

/** The random bits of the next `unique`; `undefined`: the next call draws new ones. */
let bitsOfTurn: string | undefined;
let count = 0;

/** `count` as a number of 24 bits. */
export const inSixDigits = (count: number): string => (count % 0x1_00_00_00).toString(16).padStart(6, '0');

export const systemChance: Chance = {
  number: () => Math.random(),
  hex: (bytes) => randomBytes(bytes).toString('hex'),
  // The random bits are drawn anew in each turn of the event loop, because a cloned process must not repeat an id of
  // the original (E34). Drawing them for each id would take 5 % of the processor time of a cheap acquire (measured).
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
