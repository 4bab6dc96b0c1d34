import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { expect, inject, it } from 'vitest';

import { within } from '../support/patience.js';

const demo = fileURLToPath(new URL('../../demo/main.ts', import.meta.url));

/** The demo bounds itself; this bounds what hangs. */
const BOUND_MS = 120_000;

it('the demo runs to its end, shows a takeover, and finds everything that it showed right', async () => {
  const child = spawn(process.execPath, ['--import', 'tsx', demo], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, MONGODB_URI: inject('mongoUri'), NO_COLOR: '1' },
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  }
  try {
    const [code] = (await within(BOUND_MS, 'the end of the demo', once(child, 'close'))) as [number | null];
    expect(code, printed).toBe(0);
  } finally {
    child.kill('SIGKILL');
  }
  expect(printed).toContain('4 processes want one lock');
  expect(printed).toMatch(/killed/i);
});
