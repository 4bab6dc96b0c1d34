import { describe, expect, it } from 'vitest';
import { CorruptLockDocumentError, LockLostError, StoreUnavailableError } from '../../../src/errors.js';
import { isForGood } from '../../../src/quorum/store-failure.js';

const failure = (error: unknown): Parameters<typeof isForGood>[0] => ({ store: 0, hasAnswered: true, error });

describe('a store of a quorum has failed for good', () => {
  it('if its document is corrupt, which the next round would meet again', () => {
    expect(isForGood(failure(new CorruptLockDocumentError('a')))).toBe(true);
  });

  it('but not if it did not answer, or if its seat was lost before the round was complete', () => {
    expect(isForGood(failure(new StoreUnavailableError('a', false, new Error('no answer'))))).toBe(false);
    expect(isForGood(failure(new LockLostError('a', 'evicted')))).toBe(false);
  });
});
