import { describe, expect, it } from 'vitest';
import { isStreamRefused, outcomeOfError } from '../../../src/store/outcome.js';
import { shortenedError } from '../../../src/store/trouble.js';

const NEEDS = { namespace: 'app.locks', actions: 'find' };

const serverError = (fields: object): Error =>
  Object.assign(new Error('no: '.repeat(100)), { name: 'MongoServerError', ...fields });

/** A shortened error reaches the caller as a cause, and a quorum sorts it again. */
describe('a shortened error of the server', () => {
  it.each([
    ['a code', { code: 13 }],
    ['no code', {}],
    ['a transient code', { code: 91 }],
    ['a label', { code: 232, errorLabels: ['RetryableWriteError'] }],
    ['the key of two upserts that raced', { code: 11_000, keyPattern: { _id: 1 } }],
    ['a key of another owner', { code: 11_000, keyPattern: { owner: 1 } }],
    ['a collation', { code: 11_000, errorResponse: { collation: { locale: 'de' } } }],
  ])('is sorted as the original one: with %s', (_, fields) => {
    const original = serverError(fields);
    const short = shortenedError(original, { hosts: [] }, NEEDS);
    expect((short as Error).message.length).toBeLessThan(original.message.length);
    expect(outcomeOfError(short)).toEqual({ ...outcomeOfError(original), error: short });
    expect(isStreamRefused(short)).toBe(isStreamRefused(original));
  });
});
