import type { Clock } from '../clock.js';

/** Returns a fresh random text. An update that stores it always changes the document. */
export const newNonce = ({ chance }: Clock): string => chance.hex(6);

/**
 * Returns a new attempt id: `w`, and 24 hexadecimal digits for 72 random bits and a counter of 24 bits. Ids are
 * compared only within one lock document. Among a million ids of one document, two are equal with a probability of
 * about 10^-10.
 */
export const newAttemptId = ({ chance }: Clock): string => `w${chance.unique()}`;
