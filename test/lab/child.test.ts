import { describe, expect, it } from 'vitest';

import { eventually, rejection } from '../../lab/patience.js';
import { Child, runToEnd } from '../../lab/processes/child.js';
import { isAlive } from '../../lab/processes/is-alive.js';
import { inline } from '../../lab/processes/program.js';

/** Tells its pid, and what it is ordered to tell. */
const ECHO = `
  import { onOrders, tell } from './lab/processes/parent.js';
  onOrders((text) => tell({ says: 'echo', text }));
  tell({ says: 'ready', pid: process.pid });`;

type Line =
  { readonly says: 'ready'; readonly pid: number } | { readonly says: 'echo'; readonly text: string };

const start = (source: string): Child<string, Line> => new Child(inline(source));

describe.concurrent('a child process', () => {
  it('takes orders and tells lines, between others that it prints for people', async () => {
    await using child = start(`console.log('for people'); ${ECHO}`);
    expect(await child.heard('ready')).toEqual({ says: 'ready', pid: child.pid });
    expect(await child.tell('a\nb', 'echo')).toEqual({ says: 'echo', text: 'a\nb' });
    expect(child.stdout).toBe('for people\n');
  });

  it('that ends before it has said something fails the wait for it, with its output', async () => {
    await using child = start(`console.log('the output'); console.error('the complaint'); process.exit(5);`);
    const { message } = (await rejection(child.heard('ready'))) as Error;
    for (const part of ['exit code 5', 'the output', 'the complaint']) expect(message).toContain(part);
  });

  it('is gone when it has been disposed of, even while it is stopped', async () => {
    const child = start(ECHO);
    await child.heard('ready');
    child.signal('SIGSTOP');
    await child[Symbol.asyncDispose]();
    expect(await child.ended).toEqual({ code: null, signal: 'SIGKILL' });
    expect(isAlive(child.pid)).toBe(false);
  });

  it('ends when its parent was killed', async () => {
    await using parent = start(`
      import { Child } from './lab/processes/child.js';
      import { inline } from './lab/processes/program.js';
      import { tell } from './lab/processes/parent.js';
      new Child(inline(${JSON.stringify(ECHO)}), { onLine: tell });`);
    const { pid } = await parent.heard('ready');
    expect(isAlive(pid)).toBe(true);
    await parent.kill();
    await eventually('it has ended', () => !isAlive(pid));
  });
});

describe('runToEnd', () => {
  it('gives what the program has printed, or fails by an exit code that is not the expected one', async () => {
    const program = inline(`process.stdout.write('out'); process.stderr.write('err'); process.exitCode = 3;`);
    expect(await runToEnd(program, { exitCode: 3 })).toEqual({ stdout: 'out', stderr: 'err' });
    expect(((await rejection(runToEnd(program))) as Error).message).toContain('exit code 3');
  });
});
