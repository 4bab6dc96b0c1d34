import type { Clock } from '../clock.js';

/** Returns a fresh random text. An update that stores it always changes the document. */
export const newNonce = ({ chance }: Clock): string => chance.hex(6);

/**
 * Returns a new attempt id: `w`, and 24 hexadecimal digits for 72 random bits and a counter of 24 bits. Among a million
 * ids, two are equal with a probability of at most about 10^-10.
 */
export const newAttemptId = ({ chance }: Clock): string => `w${chance.unique()}`;
