import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { eventually } from '../../../lab/patience.js';
import { cacheFolder } from '../../../lab/processes/program.js';
import { untilTestEnds } from '../../support/current-test.js';
import { Fleet, LIVES, node, resultOf, untilPrinted, useCommandLine } from './command-line.js';

useCommandLine();

/** Prints `told` at SIGTERM, and lives on. */
const STUBBORN = `process.on('SIGTERM', () => { console.log('told'); }); ${LIVES}`;

describe.concurrent('a lock that is lost while the command runs', () => {
  it('by a revocation: SIGTERM at once, the reason of the revoker on stderr, 76', async () => {
    const fleet = new Fleet();
    const child = fleet.start('run', 'x', ...node(LIVES));
    await untilPrinted(child, 'up');
    await fleet.call('revoke', 'x', '--why', 'a drill');
    const { code, stderr } = await resultOf(child);
    expect(code).toBe(76);
    expect(stderr).toContain('"a drill"');
    expect((await fleet.locks.inspect('x'))?.holders).toEqual([]);
  });

  it('by a revocation with force: the same', async () => {
    const fleet = new Fleet();
    const child = fleet.start('run', 'x', ...node(LIVES));
    await untilPrinted(child, 'up');
    await fleet.call('revoke', 'x', '--force', '--why', 'a drill');
    expect(await resultOf(child)).toMatchObject({ code: 76 });
  });

  it('SIGKILL follows after --kill-after if the command ignores SIGTERM', async () => {
    const fleet = new Fleet();
    const child = fleet.start('run', 'x', '--kill-after', '5s', ...node(STUBBORN));
    await untilPrinted(child, 'up');
    await fleet.locks.revoke('x');
    const { code, stdout } = await resultOf(child);
    expect({ code, stdout }).toEqual({ code: 76, stdout: 'up\ntold\n' });
  });

  it('with --on-loss warn the command goes on, and its end is 76', async () => {
    const fleet = new Fleet();
    const source = `${LIVES} process.stdin.once('data', () => process.exit(0)).unref()`;
    const child = fleet.start('run', 'x', '--on-loss', 'warn', ...node(source));
    await untilPrinted(child, 'up');
    await fleet.locks.revoke('x', { force: true });
    await eventually('it says so', () => child.stderr.includes('goes on without the lock'));
    child.order('end');
    expect((await resultOf(child)).code).toBe(76);
  });

  it('because its document is gone: SIGTERM and 76', async () => {
    const fleet = new Fleet();
    const child = fleet.start('run', 'x', '--lease', '15s', ...node(LIVES));
    await untilPrinted(child, 'up');
    await fleet.database.plain.db.collection('distributed.locks').deleteMany({});
    expect((await resultOf(child)).code).toBe(76);
  });

  it('because this process stood still for longer than the lease: another one gets the lock, then SIGTERM and 76', async () => {
    const fleet = new Fleet();
    const child = fleet.start('run', 'x', '--lease', '10s', ...node(STUBBORN));
    await untilPrinted(child, 'up');
    child.signal('SIGSTOP');
    untilTestEnds(await fleet.locks.acquireMutex('x', { timeoutMs: 60_000 }));
    child.signal('SIGCONT');
    const { code, stdout } = await resultOf(child);
    expect({ code, stdout }).toEqual({ code: 76, stdout: 'up\ntold\n' });
  });

  it('without a command: 76', async () => {
    const fleet = new Fleet();
    const child = fleet.start('run', 'x');
    await untilPrinted(child, '\n');
    await fleet.locks.revoke('x', { why: 'a drill' });
    const { code, stderr } = await resultOf(child);
    expect(code).toBe(76);
    expect(stderr).toContain('a drill');
  });
});

describe.concurrent('a holder that SIGKILL ends', () => {
  it('keeps the lock for its lease; then the next one gets it. Its command goes on', async () => {
    const fleet = new Fleet();
    const source = `console.log('pid', process.pid); ${LIVES}`;
    // On a busy machine, the lease may be lost before the signal comes.
    const child = fleet.start('run', 'x', '--lease', '1s', '--on-loss', 'warn', ...node(source));
    const [, pid] = /pid (\d+)/.exec(await untilPrinted(child, 'up')) ?? [];
    child.signal('SIGKILL');
    try {
      const next = await fleet.call('run', 'x', '-w', '30s', '--', 'true');
      expect(next.code).toBe(0);
      expect(process.kill(Number(pid), 0)).toBe(true);
    } finally {
      process.kill(Number(pid), 'SIGKILL');
    }
    await resultOf(child);
  });
});

describe.concurrent('leasehold elect', () => {
  it('leads while the command runs, passes its exit code on, and gives up the term', async () => {
    const fleet = new Fleet();
    const source = 'console.log(process.env.LEASEHOLD_NAME, process.env.LEASEHOLD_TOKEN); process.exit(4)';
    const { code, stdout } = await fleet.call('elect', 'x', '--value', 'v', ...node(source));
    expect(code).toBe(4);
    expect(stdout).toMatch(/^x \d+\n$/);
    expect((await fleet.locks.inspect('x'))?.holders).toEqual([]);
  });

  it('waits in the queue; a signal ends the wait with 128 + n', async () => {
    const fleet = new Fleet();
    const leader = fleet.start('elect', 'x', '--value', 'first', ...node(LIVES));
    await untilPrinted(leader, 'up');
    const waiter = fleet.start('elect', 'x', '--value', 'second', '--', 'true');
    const leaving = fleet.start('elect', 'x', '--', 'true');
    await fleet.untilQueued('x', 2);
    leaving.signal('SIGTERM');
    expect((await resultOf(leaving)).code).toBe(143);
    leader.signal('SIGTERM');
    expect((await resultOf(leader)).code).toBe(143);
    expect((await resultOf(waiter)).code).toBe(0);
  });

  it.each([true, false])('ends with 76 if the term is lost (force: %s), after the command', async (force) => {
    const fleet = new Fleet();
    const leader = fleet.start('elect', 'x', '--kill-after', '5s', ...node(STUBBORN));
    await untilPrinted(leader, 'up');
    await fleet.locks.revoke('x', { force, why: 'a drill' });
    const { code, stdout, stderr } = await resultOf(leader);
    expect({ code, stdout }).toEqual({ code: 76, stdout: 'up\ntold\n' });
    expect(stderr).toMatch(/revoked by .* for "a drill"/);
  });

  it('a signal while the command is being started goes to the command, which ends by itself', async () => {
    const fleet = new Fleet();
    await using folder = await cacheFolder('started');
    const started = join(folder.path, 'started');
    // The signal comes when `spawn` has returned and `leasehold` does not know yet that the command has started.
    const preloaded = `
      import processes from 'node:child_process';
      import { existsSync } from 'node:fs';
      import { syncBuiltinESMExports } from 'node:module';
      const { spawn } = processes;
      processes.spawn = (...args) => {
        const child = spawn(...args);
        while (!existsSync(${JSON.stringify(started)}));
        process.emit('SIGTERM', 'SIGTERM');
        return child;
      };
      syncBuiltinESMExports();`;
    const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(preloaded)}` };
    const command = `trap 'exit 9' TERM; touch ${started}; while :; do sleep 0.1; done`;
    const child = fleet.startWith(env, 'elect', 'x', '--kill-after', '60s', '--', '/bin/sh', '-c', command);
    expect((await resultOf(child)).code).toBe(9);
  });

  it('--observe prints each leader', async () => {
    const fleet = new Fleet();
    const observer = fleet.start('elect', 'x', '--observe', '--json');
    const rows = (): readonly { candidateId: string | null; value?: string }[] =>
      observer.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { candidateId: string | null });
    await untilPrinted(observer, '\n');
    const leader = fleet.start('elect', 'x', '--value', 'here', ...node(LIVES));
    await eventually('the leader is printed', () => rows().at(-1)?.value === 'here');
    leader.signal('SIGTERM');
    await eventually('its end is printed', () => rows().length > 1 && rows().at(-1)?.candidateId === null);
    observer.signal('SIGINT');
    expect((await resultOf(observer)).code).toBe(130);
    expect(rows()[0]).toEqual({ candidateId: null });
  });
});
