import { describe, expect, it } from 'vitest';

import { keepAlive } from '../../../src/keep-alive.js';
import { runToEnd } from '../../../lab/processes/child.js';
import { inline } from '../../../lab/processes/program.js';

/** Runs a program in its own process, and returns what it prints. */
async function printed(program: string): Promise<string> {
  const source = `import { goBy, keepAlive } from './src/keep-alive.js';\n${program}`;
  const { stdout } = await runToEnd(inline(source));
  return stdout.trim();
}

/** Settles after a while, by a timer that does not keep the process alive. */
const UNREFERENCED = 'new Promise((resolve) => setTimeout(resolve, 300).unref())';

describe('keepAlive', () => {
  it('keeps the process alive until the promise settles', async () => {
    expect(await printed(`keepAlive(${UNREFERENCED}).then(() => console.log('settled'));`)).toBe('settled');
  });

  it('lets the process end once nothing is awaited', async () => {
    const program = `
      await Promise.all([keepAlive(Promise.resolve()), keepAlive(Promise.reject(new Error())).catch(() => {})]);
      ${UNREFERENCED}.then(() => console.log('kept alive'));
      console.log('awaited');`;
    expect(await printed(program)).toBe('awaited');
  });

  it('lets the process end when every time is over, also with later calls', async () => {
    const program = `
      const times = [new AbortController(), new AbortController()];
      for (const { signal } of times) goBy(signal);
      const never = () => void keepAlive(new Promise(() => {}));
      never();
      for (const time of times) time.abort();
      never();
      console.log('over');`;
    expect(await printed(program)).toBe('over');
  });

  it('keeps the process alive while one time goes on, or another one has begun', async () => {
    const program = `
      const times = [new AbortController(), new AbortController(), new AbortController()];
      for (const { signal } of times.slice(0, 2)) goBy(signal);
      times[0].abort();
      await keepAlive(${UNREFERENCED});
      times[1].abort();
      goBy(times[2].signal);
      await keepAlive(${UNREFERENCED});
      console.log('settled');`;
    expect(await printed(program)).toBe('settled');
  });

  it('passes on the result and the rejection', async () => {
    await expect(keepAlive(Promise.resolve(7))).resolves.toBe(7);
    await expect(keepAlive(Promise.reject(new RangeError('no')))).rejects.toThrow(RangeError);
  });
});
