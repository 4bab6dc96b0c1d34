import { describe, expect, it } from 'vitest';

import { keepAlive } from '../../../src/keep-alive.js';
import { runToEnd } from '../../../lab/processes/child.js';
import { inline } from '../../../lab/processes/program.js';

/** Runs a program in its own process, and returns what it prints. */
async function printed(program: string): Promise<string> {
  const source = `import { keepAlive } from './src/keep-alive.js';\n${program}`;
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

  it('passes on the result and the rejection', async () => {
    await expect(keepAlive(Promise.resolve(7))).resolves.toBe(7);
    await expect(keepAlive(Promise.reject(new RangeError('no')))).rejects.toThrow(RangeError);
  });
});
