import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { expect, inject, it } from 'vitest';

import { eventually, within } from '../../lab/patience.js';

/** The demo has bounds of its own. This one ends a demo that hangs. */
const BOUND_MS = 120_000;

class Demo implements Disposable {
  printed = '';
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;

  constructor() {
    this.#child = spawn(process.execPath, ['--import', 'tsx', 'demo/main.ts'], {
      cwd: fileURLToPath(new URL('../../', import.meta.url)),
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, MONGODB_URI: inject('mongoUri'), NO_COLOR: '1' },
      // A process group of its own, as in a terminal.
      detached: true,
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.on('data', (chunk: Buffer) => (this.printed += chunk.toString()));
    }
    const closed = within(BOUND_MS, 'the end of the demo', once(this.#child, 'close'));
    this.ended = closed.then(([code]) => code as number | null);
  }

  /** Sends a signal to all its processes. */
  signal(signal: NodeJS.Signals): void {
    if (this.#child.pid !== undefined) process.kill(-this.#child.pid, signal);
  }

  [Symbol.dispose](): void {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.signal('SIGKILL');
  }
}

it('the demo runs to its end, shows a takeover, and passes its own checks', async () => {
  using demo = new Demo();
  expect(await demo.ended, demo.printed).toBe(0);
  expect(demo.printed).toContain('4 processes run examples/mutex.ts');
  expect(demo.printed).toMatch(/killed {2}SIGKILL to pid \d+/);
  expect(demo.printed).toMatch(/holds {2}token \d+ {2}\d\.\d\d s after the kill/);
  expect(demo.printed.match(/✓/g)).toHaveLength(4);
});

it('the demo ends on Ctrl-C and leaves no process behind', async () => {
  using demo = new Demo();
  await eventually('the demo shows a hold', () => demo.printed.includes('holds  token'));
  demo.signal('SIGINT');
  expect(await demo.ended, demo.printed).toBe(130);
  const pids = [...demo.printed.matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));
  expect(pids).toHaveLength(4);
  expect(pids.filter(isAlive)).toEqual([]);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
