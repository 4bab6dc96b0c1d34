import { randomBytes } from 'node:crypto';

/** Returns a fresh random text. An update that stores such a text always changes the document. */
export const newNonce = (): string => randomBytes(6).toString('hex');

/** `w` and the random bits of the next attempt id; `undefined`: the next id draws new bits. */
let prefix: string | undefined;
let count = 0;

/**
 * Returns a new attempt id: `w`, 72 random bits, and a number of 24 bits that counts the ids of this program. The
 * random bits are drawn anew in each turn of the event loop, because a cloned process must not repeat an id of the
 * original (E34). Drawing them for each id would take 5 % of the processor time of a cheap acquire (measured).
 *
 * Within a turn the number makes the ids differ: the memory does not suffice for 2^24 requests in one turn. The ids of
 * two turns or two programs differ unless their random bits are equal. Ids are compared only within one lock document.
 * Among a million ids of one document, two are equal with a probability of at most 10^-10.
 */
export function newAttemptId(): string {
  if (prefix === undefined) {
    prefix = `w${randomBytes(9).toString('hex')}`;
    process.nextTick(() => (prefix = undefined));
  }
  count = (count + 1) % 0x1_00_00_00;
  return prefix + count.toString(16).padStart(6, '0');
}
