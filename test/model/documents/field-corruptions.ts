import type { LockKind } from '../../../src/protocol/lock-document.js';

type FieldCorruption = readonly [field: string, value: unknown];

const COMMON: readonly FieldCorruption[] = [
  ['kind', 'turnstile'],
  ['v', 2],
  ['fence', 'x'],
  ['fence', 1.5],
  ['queue', []],
  ['queue', null],
  ['wake', 7],
  ['purgeAt', '2030-01-01'],
];

const HOLDER: readonly FieldCorruption[] = [
  ['holder', 'nobody'],
  ['holder', []],
];

/** Fields and the values that overwrite them, to corrupt the document of a lock in use. */
export const FIELD_CORRUPTIONS: Readonly<Record<LockKind, readonly FieldCorruption[]>> = {
  mutex: [...COMMON, ...HOLDER],
  election: [...COMMON, ...HOLDER],
  'reader-writer': [
    ...COMMON,
    ['readers', null],
    ['readers', {}],
    ['readers', ['w1']],
    ['writer', []],
    ['writer', 'w1'],
    ['writerWaiting', 'no'],
  ],
  semaphore: [
    ...COMMON,
    ['holders', null],
    ['holders', {}],
    ['holders', [7]],
    ['limit', 0],
    ['limit', -1],
    ['limit', 2_147_483_648],
    ['limit', null],
    ['limit', 2.5],
  ],
};
