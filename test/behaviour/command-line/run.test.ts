import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { eventually, pause } from '../../../lab/patience.js';
import { isAlive } from '../../../lab/processes/is-alive.js';
import { untilTestEnds, whenTestEnds } from '../../support/current-test.js';
import { Fleet, LIVES, node, resultOf, untilPrinted, useCommandLine } from './command-line.js';

useCommandLine();

/** A process that has ended may still be there as a zombie, if nothing on the machine reaps it. */
function isRunning(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return !/^(Z|\s*$)/.test(stdout);
}

/** After a signal, a command says how long its end takes at most if that takes a second, as on a busy machine. */
const AT_MOST_HURRIED = expect.stringMatching(
  /^(leasehold: giving back [^\n]* takes at most \d+ s; another signal ends this at once\n)?$/,
) as string;

describe.concurrent('leasehold run', () => {
  it('gives the command the name and the token of its lock, and ends with its exit code', async () => {
    const fleet = new Fleet();
    const source = 'console.log(process.env.LEASEHOLD_NAME, process.env.LEASEHOLD_TOKEN); process.exit(7)';
    const { code, stdout, stderr } = await fleet.call('run', 'a b', ...node(source));
    expect({ code, stderr }).toEqual({ code: 7, stderr: '' });
    expect(stdout).toMatch(/^a b \d{10,}\n$/);
    expect((await fleet.locks.inspect('a b'))?.holders).toEqual([]);
  });

  it('passes stdin to the command, and its stderr to the caller', async () => {
    const fleet = new Fleet();
    const child = fleet.start(
      'run',
      'x',
      ...node('process.stdin.on("data", (d) => console.error(String(d)))'),
    );
    await fleet.untilHeld('x');
    child.order('word');
    await eventually('the word comes back', () => child.stderr.includes('word'));
  });

  it('ends with 128 + n if signal n ended the command', async () => {
    const { code } = await new Fleet().call('run', 'x', ...node('process.kill(process.pid, "SIGKILL")'));
    expect(code).toBe(137);
  });

  it('ends with 127 if there is no such command, and releases the lock', async () => {
    const fleet = new Fleet();
    const { code, stderr } = await fleet.call('run', 'x', '--', 'no-such-command-here');
    expect({ code, stderr }).toEqual({
      code: 127,
      stderr: 'leasehold: no-such-command-here: command not found\n',
    });
    expect((await fleet.locks.inspect('x'))?.holders).toEqual([]);
  });

  it('kills the command and what it has started if it ends by an error of its own', async () => {
    const source = `process.on('SIGUSR2', () => { throw new Error('unexpected'); });`;
    const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(source)}` };
    const script = `trap '' TERM; sleep 600 & echo "pids $$ $!"; wait`;
    const child = new Fleet().startWith(env, 'run', 'x', '-c', script);
    const [, ...pids] = /pids (\d+) (\d+)\n/.exec(await untilPrinted(child, /pids \d+ \d+\n/)) ?? [];
    expect(pids.map((pid) => isRunning(Number(pid)))).toEqual([true, true]);
    child.signal('SIGUSR2');
    expect(await resultOf(child)).toMatchObject({
      code: 70,
      stderr: expect.stringContaining('unexpected') as string,
    });
    await eventually('both have ended', () => !pids.some((pid) => isRunning(Number(pid))));
  });

  it('ends with 126 if the command cannot be executed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'leasehold-run-'));
    try {
      await writeFile(join(folder, 'text'), 'no program', { mode: 0o600 });
      const fleet = new Fleet();
      const text = join(folder, 'text');
      expect((await fleet.call('run', 'x', '--', text)).code).toBe(126);
      // Node.js reports some causes by an event, and throws others. A file in the place of a folder is one of these.
      const within = await fleet.call('run', 'x', '--', join(text, 'program'));
      expect(within).toMatchObject({
        code: 126,
        stderr: expect.stringMatching(/^leasehold: \S+: cannot execute \(ENOTDIR\)\n$/) as string,
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('runs a text by the shell with -c', async () => {
    const { code, stdout } = await new Fleet().call('run', 'x', '-c', 'echo "$LEASEHOLD_NAME"; exit 3');
    expect({ code, stdout }).toEqual({ code: 3, stdout: 'x\n' });
  });

  it('ends with 75 and names the holder if the lock is busy or the time is up; -E sets another code', async () => {
    const fleet = new Fleet();
    untilTestEnds(await fleet.locks.acquireMutex('x', { why: 'the test' }));
    const never = ['--', 'true'];
    const tried = await fleet.call('run', 'x', '-n', ...never);
    expect(tried.code).toBe(75);
    expect(tried.stderr).toContain('for "the test"');
    expect((await fleet.call('run', 'x', '-w', '3s', ...never)).code).toBe(75);
    expect((await fleet.call('run', 'x', '-n', '-E', '3', ...never)).code).toBe(3);
    expect(await fleet.call('run', 'x', '-n', '-E', '0', ...never)).toMatchObject({ code: 0, stderr: '' });
  });

  it('holds a reader-writer lock with -s and -x', async () => {
    const fleet = new Fleet();
    const lock = fleet.locks.createReaderWriterLock('x');
    untilTestEnds(await lock.acquireRead());
    expect((await fleet.call('run', 'x', '-s', '-n', '--', 'true')).code).toBe(0);
    expect((await fleet.call('run', 'x', '-x', '-n', '--', 'true')).code).toBe(75);
  });

  it('holds permits of a semaphore with --limit and --permits; another limit is wrong configuration', async () => {
    const fleet = new Fleet();
    untilTestEnds(await fleet.locks.createSemaphore('x', 3).acquire());
    const take = (limit: string, permits: string) =>
      fleet.call('run', 'x', '--limit', limit, '--permits', permits, '-n', '--', 'true');
    expect((await take('3', '2')).code).toBe(0);
    expect((await take('3', '3')).code).toBe(75);
    expect((await take('4', '1')).code).toBe(78);
  });

  it('takes a name that begins with - after --, and the command after the next --', async () => {
    const fleet = new Fleet();
    const source = 'console.log(process.env.LEASEHOLD_NAME)';
    const { code, stdout } = await fleet.call('run', '-n', '--', '-x', ...node(source));
    expect({ code, stdout }).toEqual({ code: 0, stdout: '-x\n' });
    expect((await fleet.call('elect', '--', '--', ...node(source))).stdout).toBe('--\n');
    const holder = fleet.start('run', '--', '-x');
    await untilPrinted(holder, '\n');
    expect((await fleet.call('show', '--', '-x')).stdout).toMatch(/^-x: mutex/);
    expect((await fleet.call('ls', '--held', '--', '-')).stdout).toContain('\n-x ');
    expect((await fleet.call('revoke', '--why', '-w', '--', '-x')).code).toBe(0);
    expect((await resultOf(holder)).code).toBe(76);
    expect((await fleet.call('wait', '-w', '10s', '--', '-x')).code).toBe(0);
  });

  it('is wrong configuration if the name is in use as another kind of lock', async () => {
    const fleet = new Fleet();
    untilTestEnds(await fleet.locks.acquireMutex('x'));
    const { code, stderr } = await fleet.call('elect', 'x', '--', 'true');
    expect([code, stderr]).toEqual([78, 'leasehold: Lock "x" is in use with the kind mutex, not election\n']);
  });

  it('takes its options from the environment, and an option outranks it', async () => {
    const fleet = new Fleet();
    const env = { LEASEHOLD_WHY: 'by variable', LEASEHOLD_JSON: '1', LEASEHOLD_SHARED: '0' };
    const child = fleet.startWith(env, 'run', 'x', ...node(LIVES));
    await fleet.untilHeld('x');
    const other = fleet.startWith(env, 'run', 'y', '--why', 'by option', ...node(LIVES));
    await fleet.untilHeld('y');
    const [x, y] = await Promise.all([fleet.locks.inspect('x'), fleet.locks.inspect('y')]);
    expect(x).toMatchObject({ kind: 'mutex', holders: [{ why: 'by variable', label: 'leasehold run' }] });
    expect(y).toMatchObject({ holders: [{ why: 'by option' }] });
    for (const each of [child, other]) each.signal('SIGTERM');
    // A command line that is killed leaves its command behind.
    for (const each of [child, other]) expect((await resultOf(each)).code).toBe(143);
  });

  it('lets an option outrank the variables of the options that it excludes', async () => {
    const fleet = new Fleet();
    untilTestEnds(await fleet.locks.acquireMutex('busy'));
    const results = async (env: Record<string, string>, ...args: readonly string[]): Promise<number | null> =>
      (await resultOf(fleet.startWith(env, 'run', ...args))).code;
    expect(await results({ LEASEHOLD_TIMEOUT: '1h' }, 'busy', '-n', '--', 'true')).toBe(75);
    expect(await results({ LEASEHOLD_NONBLOCK: '1' }, 'busy', '-w', '3s', '--', 'true')).toBe(75);
    expect(await results({ LEASEHOLD_SHARED: '1', LEASEHOLD_LIMIT: '3' }, 'x', '-x', '--', 'true')).toBe(0);
    expect(await results({ LEASEHOLD_LIMIT: '5', LEASEHOLD_PERMITS: '2' }, 'x', '-x', '--', 'true')).toBe(0);
    expect(await results({ LEASEHOLD_COMMAND: 'exit 4' }, 'y', '--', 'true')).toBe(0);
    expect(await results({ LEASEHOLD_NONBLOCK: '1', LEASEHOLD_TIMEOUT: '1h' }, 'y', '--', 'true')).toBe(64);
    expect(await fleet.locks.inspect('x')).toMatchObject({ kind: 'reader-writer' });
  });
});

describe.concurrent('leasehold run --hold-at-least', () => {
  const ends = ['--hold-at-least', '1h', ...node('console.log("pid", process.pid, "done"); process.exit(3)')];

  it('keeps the lock after the end of the command, until a signal; the exit code is that of the command', async () => {
    const fleet = new Fleet();
    const child = fleet.start('run', 'x', ...ends);
    await untilPrinted(child, 'done');
    expect((await fleet.call('run', 'x', '-n', '--', 'true')).code).toBe(75);
    child.signal('SIGTERM');
    expect(await resultOf(child)).toMatchObject({ code: 3, stderr: AT_MOST_HURRIED });
    expect((await fleet.locks.inspect('x'))?.holders).toEqual([]);
  });

  it('gives the lock back when the time is over, counted from the grant', async () => {
    const fleet = new Fleet();
    const startedMs = performance.now();
    const { code } = await fleet.call('run', 'x', '--hold-at-least', '2s', '--', 'true');
    expect(code).toBe(0);
    expect(performance.now() - startedMs).toBeGreaterThan(2_000);
    expect((await fleet.locks.inspect('x'))?.holders).toEqual([]);
  });

  it('does not outlast a signal that ended the command', async () => {
    const fleet = new Fleet();
    const child = fleet.start('run', 'x', '--hold-at-least', '1h', ...node(LIVES));
    await untilPrinted(child, 'up');
    child.signal('SIGINT');
    expect((await resultOf(child)).code).toBe(130);
  });

  it('ends early by a revocation with the exit code of the command, and by a loss with 76', async () => {
    const fleet = new Fleet();
    const asked = fleet.start('run', 'x', ...ends);
    const evicted = fleet.start('run', 'y', ...ends);
    for (const child of [asked, evicted]) {
      const [, pid] = /pid (\d+)/.exec(await untilPrinted(child, 'done')) ?? [];
      // Only its parent takes it off the list of processes, and then knows the exit code.
      await eventually('the command line knows its end', () => !isAlive(Number(pid)));
    }
    await fleet.locks.revoke('x');
    await fleet.locks.revoke('y', { force: true });
    expect((await resultOf(asked)).code).toBe(3);
    const { code, stderr } = await resultOf(evicted);
    expect(code).toBe(76);
    expect(stderr).toContain('before the command or --hold-at-least had ended');
  });
});

describe.concurrent('leasehold run without a command', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'prints the token and holds until %s, then ends with 0',
    async (signal) => {
      const fleet = new Fleet();
      const child = fleet.start('run', 'x');
      const token = Number(await untilPrinted(child, /^\d+\n$/));
      expect((await fleet.locks.inspect('x'))?.holders).toMatchObject([{ token }]);
      child.signal(signal);
      expect((await resultOf(child)).code).toBe(0);
      expect((await fleet.locks.inspect('x'))?.holders).toEqual([]);
    },
  );

  it('prints an object with --json', async () => {
    const fleet = new Fleet();
    const child = fleet.start('run', 'x', '--json');
    const printed = JSON.parse(await untilPrinted(child, '\n')) as object;
    expect(printed).toEqual({ token: expect.any(Number) as number });
    child.signal('SIGTERM');
    await resultOf(child);
  });
});

describe.concurrent('a signal', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s while it waits leaves the queue and ends with %i', async (signal, code) => {
    const fleet = new Fleet();
    untilTestEnds(await fleet.locks.acquireMutex('x'));
    const child = fleet.start('run', 'x', '--', 'true');
    await fleet.untilQueued('x');
    child.signal(signal);
    expect(await resultOf(child)).toMatchObject({ code, stdout: '', stderr: AT_MOST_HURRIED });
    expect((await fleet.locks.inspect('x'))?.waiters).toEqual([]);
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const)(
    '%s is passed on to the command once, and the lock is released when the command has ended',
    async (signal) => {
      const fleet = new Fleet();
      const counts = `let n = 0; process.on('${signal}', () => { n += 1; setTimeout(() => { console.log(n); process.exit(5); }, 300); });`;
      const child = fleet.start('run', 'x', ...node(counts + LIVES));
      await untilPrinted(child, 'up');
      child.signal(signal);
      expect(await resultOf(child)).toMatchObject({ code: 5, stdout: 'up\n1\n' });
      expect((await fleet.locks.inspect('x'))?.holders).toEqual([]);
    },
  );

  it.each([
    ['SIGTERM', '', 137],
    ['SIGHUP', '', 137],
    ['SIGINT', 'setTimeout(() => process.exit(5), 2_000)', 5],
  ] as const)('--kill-after counts on SIGTERM and SIGHUP, not on SIGINT: %s', async (signal, then, code) => {
    const ignores = node(`process.on('${signal}', () => { ${then} }); ${LIVES}`);
    const child = new Fleet().start('run', 'x', '--kill-after', '200ms', ...ignores);
    await untilPrinted(child, 'up');
    child.signal(signal);
    expect((await resultOf(child)).code).toBe(code);
  });

  it('reaches what a shell has started, and the lock is held until that has ended', async () => {
    const fleet = new Fleet();
    const script = `${process.execPath} -e 'console.log(process.pid); process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'; echo after`;
    const child = fleet.start('run', 'x', '--kill-after', '300ms', '-c', script);
    const pid = Number(await untilPrinted(child, /^\d+\n/));
    child.signal('SIGTERM');
    await resultOf(child);
    expect(isRunning(pid)).toBe(false);
  });

  it('kills what a shell has started also if this process stood still when the kill was due', async () => {
    const script = `echo $$; ${process.execPath} -e 'process.on("SIGTERM", () => {}); console.log(process.pid); setTimeout(() => {}, 120_000)'; echo after`;
    const child = new Fleet().start('run', 'x', '--kill-after', '10s', '-c', script);
    const [shell = 0, pid = 0] = (await untilPrinted(child, /^\d+\n\d+\n/)).split('\n').map(Number);
    whenTestEnds(() => {
      if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    });
    child.signal('SIGTERM');
    await eventually('the command line knows the end of the shell', () => !isAlive(shell));
    child.signal('SIGSTOP');
    // Longer than the time to the kill, and than the wait for its effect.
    await pause(12_000);
    child.signal('SIGCONT');
    await resultOf(child);
    expect(isRunning(pid)).toBe(false);
  });
});
