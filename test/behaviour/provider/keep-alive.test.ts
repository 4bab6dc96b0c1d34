import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { describe, expect, it } from 'vitest';

import { keepAlive } from '../../../src/keep-alive.js';

const run = promisify(execFile);

/** Runs a program in its own process, and returns what it prints. */
async function printed(program: string): Promise<string> {
  const url = new URL('../../../src/keep-alive.ts', import.meta.url).href;
  const source = `import { keepAlive } from ${JSON.stringify(url)};\n${program}`;
  const { stdout } = await run(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', source]);
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
