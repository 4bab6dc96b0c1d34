import { describe, expect, it } from 'vitest';
import { CommandGate } from '../../src/store/command-gate.js';
import { testProvider } from '../support/test-provider.js';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A gate, and commands that end when they are told to. */
function gateOf(poolSize: number) {
  const gate = new CommandGate(poolSize);
  const sent: number[] = [];
  const ends: (() => void)[] = [];
  const pass = (number: number, signal = new AbortController().signal): Promise<void> =>
    gate.pass(signal, async () => {
      sent.push(number);
      await new Promise<void>((resolve) => (ends[number] = resolve));
    });
  return { gate, sent, ends, pass };
}

describe('the gate', () => {
  it.each([
    [1, 1],
    [2, 1],
    [5, 4],
    [0, 10],
  ])(
    'of a pool of %i lets %i of ten commands pass, and one more for each that ends',
    async (poolSize, count) => {
      const { sent, ends, pass } = gateOf(poolSize);
      const passed = Array.from({ length: 10 }, (_, number) => pass(number));
      await settled();
      expect(sent).toHaveLength(count);
      for (let number = 0; number < 10; number += 1) {
        ends[number]?.();
        await settled();
      }
      await Promise.all(passed);
      expect(sent).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    },
  );

  it('never sends what was given up meanwhile, and passes its turn on', async () => {
    const { sent, ends, pass } = gateOf(1);
    const giveUp = new AbortController();
    const [first, given, last] = [pass(0), pass(1, giveUp.signal), pass(2)];
    giveUp.abort(new Error('given up'));
    await expect(given).rejects.toThrow('given up');
    ends[0]?.();
    await first;
    await settled();
    expect(sent).toEqual([0, 2]);
    ends[2]?.();
    await last;
  });

  it('goes on after a command that fails', async () => {
    const { gate, sent, ends, pass } = gateOf(1);
    const failed = gate.pass(new AbortController().signal, () => Promise.reject(new Error('refused')));
    await expect(failed).rejects.toThrow('refused');
    const passed = pass(0);
    await settled();
    expect(sent).toEqual([0]);
    ends[0]?.();
    await passed;
  });
});

describe('in a small pool', () => {
  it('an extension goes before the requests that are waiting', async () => {
    const { locks } = await testProvider(
      { createIndexes: false, storeTimeoutMs: 60_000 },
      { maxPoolSize: 2 },
    );
    const hold = await locks.acquireMutex('held');
    let granted = 0;
    const requests = Array.from({ length: 100 }, async (_, index) => {
      await locks.acquireMutex(`n${String(index)}`);
      granted += 1;
    });
    await hold.confirm();
    expect(granted).toBeLessThan(50);
    await Promise.all(requests);
    expect(granted).toBe(100);
  });
});
