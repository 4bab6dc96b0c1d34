import { describe, expect, it, onTestFinished, vi } from 'vitest';

/** Loads the module as a runtime does that does not show when a signal is derived from another one. */
async function loadWithHiddenDerivation(): Promise<
  typeof import('../../../src/lease/holding/heard-signal.js')
> {
  const any = vi.spyOn(AbortSignal, 'any').mockImplementation(() => new AbortController().signal);
  onTestFinished(() => {
    any.mockRestore();
  });
  vi.resetModules();
  return await import('../../../src/lease/holding/heard-signal.js');
}

describe('on a runtime that hides a way of listening to a signal', () => {
  it('every signal counts as heard, also after its last visible listener was removed (S2)', async () => {
    const { heardController } = await loadWithHiddenDerivation();
    const changes: boolean[] = [];
    const { signal } = heardController((isHeard) => changes.push(isHeard));
    const listener = (): void => undefined;
    signal.addEventListener('abort', listener);
    signal.removeEventListener('abort', listener);
    expect(changes).toEqual([true]);
  });
});
