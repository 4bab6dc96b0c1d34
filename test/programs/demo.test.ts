import { expect, inject, it } from 'vitest';

import { Child } from '../../lab/processes/child.js';
import { eventually } from '../../lab/patience.js';
import { isAlive } from '../../lab/processes/is-alive.js';
import { fromSources } from '../../lab/processes/program.js';

/** The demo ends by itself within three minutes. This bound ends a demo that hangs. */
const BOUND_MS = 240_000;

const start = (): Child =>
  new Child(fromSources('demo/main.ts'), {
    env: { MONGODB_URI: inject('mongoUri'), NO_COLOR: '1' },
    leadsGroup: true,
  });

it('the demo runs to its end, shows a takeover, and finds everything that it showed right', async () => {
  await using demo = start();
  await demo.endsByItself(0, BOUND_MS);
  const printed = demo.stdout + demo.stderr;
  expect(printed).toContain('4 processes run examples/mutex.ts');
  expect(printed).toMatch(/killed {2}SIGKILL to pid \d+/);
  expect(printed).toMatch(/holds {2}token \d+ {2}\d\.\d\d s after the kill/);
  expect(printed.match(/✓/g)).toHaveLength(4);
});

it('the demo ends on Ctrl-C and leaves no process behind', async () => {
  await using demo = start();
  await eventually('the demo shows a hold', () => demo.stdout.includes('holds  token'), BOUND_MS);
  demo.signal('SIGINT');
  await demo.endsByItself(130, BOUND_MS);
  const pids = [...demo.stdout.matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));
  expect(pids).toHaveLength(4);
  expect(pids.filter(isAlive)).toEqual([]);
});
