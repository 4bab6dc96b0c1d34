import { expect, it, vi } from 'vitest';

const load = async () => {
  vi.resetModules();
  return await import('../../../src/index.js');
};

it('instanceof recognises the errors of another copy of the library, each by its own class only', async () => {
  const [first, second] = [await load(), await load()];
  expect(first.QueueFullError).not.toBe(second.QueueFullError);
  const error: unknown = new second.ProviderClosedError(null);
  expect(error instanceof first.ProviderClosedError).toBe(true);
  expect(error instanceof first.LeaseholdError).toBe(true);
  expect(error instanceof first.QueueFullError).toBe(false);
  expect(error instanceof second.ProviderClosedError).toBe(true);
  class OwnError extends first.ProviderClosedError {}
  expect(error instanceof OwnError).toBe(false);
  const own: unknown = new OwnError(null);
  expect(own instanceof OwnError && own instanceof first.ProviderClosedError).toBe(true);
  expect(own instanceof second.ProviderClosedError).toBe(true);
});

it('instanceof recognises nothing else, also if it has the code of an error', async () => {
  const { LeaseholdError, ProviderClosedError } = await load();
  const others: readonly unknown[] = [
    { code: 'PROVIDER_CLOSED' },
    new Error('closed'),
    null,
    undefined,
    'PROVIDER_CLOSED',
  ];
  for (const other of others) {
    expect(other instanceof ProviderClosedError).toBe(false);
    expect(other instanceof LeaseholdError).toBe(false);
  }
});
