import { randomBytes } from 'node:crypto';

/** The nonce of one `extend` for a place or a seat. A fresh nonce makes each `extend` a real write. */
export const newNonce = (): string => randomBytes(6).toString('hex');

/** The random part of all ids of this turn of the event loop. */
let prefix: string | undefined;
let count = 0;

/**
 * 96 random bits and a number. The bits are drawn anew in each turn of the event loop that uses ids: a cloned process
 * must not repeat an id (E34). Drawing them for each id took 5 % of the processor time of a cheap acquire.
 */
export function newAttemptId(): string {
  if (prefix === undefined) {
    prefix = `w${randomBytes(12).toString('hex')}`;
    process.nextTick(() => (prefix = undefined));
  }
  count += 1;
  return prefix + count.toString(16);
}
