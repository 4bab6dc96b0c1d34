import { describe, expect, it } from 'vitest';

import { eventually, later } from '../../../lab/patience.js';
import { untilTestEnds } from '../../support/current-test.js';
import {
  Fleet,
  inTerminal,
  inTerminalWith,
  LIVES,
  node,
  untilPrinted,
  useCommandLine,
} from './command-line.js';
import type { InTerminal } from './command-line.js';

useCommandLine();

const COUNTS = `let n = 0; process.on('SIGINT', () => { n += 1; setTimeout(() => { console.log('count ' + n); process.exit(5); }, 500); });`;

/** Prints the process id of the command line. */
const SAYS_PARENT = "console.log('parent ' + process.ppid); ";

/** Prints `told` at SIGTERM, and lives on. */
const STUBBORN = `process.on('SIGTERM', () => { console.log('told'); }); ${LIVES}`;

async function parentIn(terminal: InTerminal): Promise<number> {
  const [, pid] = /parent (\d+)/.exec(await untilPrinted(terminal, 'up')) ?? [];
  return Number(pid);
}

describe.concurrent('in a terminal', () => {
  it('ctrl-C reaches the command once, and its exit code is passed on', async () => {
    const fleet = new Fleet();
    const terminal = inTerminal(fleet, 'run', 'x', ...node(COUNTS + LIVES));
    await untilPrinted(terminal, 'up');
    terminal.type('\u0003');
    await untilPrinted(terminal, 'count 1');
    expect(await terminal.exitCode()).toBe(5);
    expect((await fleet.locks.inspect('x'))?.holders).toEqual([]);
  });

  it('ctrl-C while it waits leaves the queue and ends with 130', async () => {
    const fleet = new Fleet();
    untilTestEnds(await fleet.locks.acquireMutex('x'));
    const terminal = inTerminal(fleet, 'run', 'x', '--', 'true');
    await fleet.untilQueued('x');
    terminal.type('\u0003');
    expect(await terminal.exitCode()).toBe(130);
    expect((await fleet.locks.inspect('x'))?.waiters).toEqual([]);
  });

  it('the command can read the terminal', async () => {
    const fleet = new Fleet();
    const reads = `process.stdin.once('data', (d) => { console.log('got ' + String(d).trim() + ' ' + process.stdin.isTTY); process.exit(0); }); console.log('up')`;
    const terminal = inTerminal(fleet, 'run', 'x', ...node(reads));
    await untilPrinted(terminal, 'up');
    terminal.type('word\r');
    await untilPrinted(terminal, 'got word true');
    expect(await terminal.exitCode()).toBe(0);
  });

  it('ls cuts a long name, so that every line fits', async () => {
    const fleet = new Fleet();
    await (await fleet.locks.acquireMutex('\u001b'.repeat(1_024))).release();
    const terminal = inTerminal(fleet, 'ls', '--no-color');
    expect(await terminal.exitCode()).toBe(0);
    expect(terminal.stdout).toMatch(/^(\\u\{1b\}){6}\\u\{… {2}mutex/m);
  });

  it('tables have colours, unless --no-color, NO_COLOR, CI or a terminal without colours forbids them', async () => {
    const fleet = new Fleet();
    await (await fleet.locks.acquireMutex('x\u001b[31m')).release();
    const coloured = inTerminal(fleet, 'ls');
    await coloured.exitCode();
    expect(coloured.stdout).toContain('\u001b[1mNAME');
    expect(coloured.stdout).toContain('x\\u{1b}[31m');
    expect(coloured.stdout).not.toContain('\u001b[31m');
    const plain = [
      inTerminal(fleet, 'ls', '--no-color'),
      inTerminalWith(fleet, { NO_COLOR: '1' }, 'ls'),
      inTerminalWith(fleet, { LEASEHOLD_NO_COLOR: '1' }, 'ls'),
      inTerminalWith(fleet, { CI: 'true' }, 'ls'),
      inTerminalWith(fleet, { TERM: 'dumb' }, 'ls'),
    ];
    for (const terminal of plain) {
      expect(await terminal.exitCode()).toBe(0);
      expect(terminal.stdout).toContain('NAME');
      expect(terminal.stdout).not.toContain('\u001b');
    }
  });
});

describe.concurrent('leasehold top in a terminal', () => {
  it('shows locks with the most waiters first, follows changes, and gives the screen back at q', async () => {
    const fleet = new Fleet();
    untilTestEnds(await fleet.locks.acquireMutex('quiet'));
    const held = await fleet.locks.acquireMutex('wanted\u001b[31m');
    const next = later(fleet.locks.acquireMutex('wanted\u001b[31m'));
    await fleet.untilQueued('wanted\u001b[31m');
    const terminal = inTerminal(fleet, 'top', '--every', '200ms');
    const screen = await untilPrinted(terminal, /wanted.*\r\n.*quiet/);
    expect(screen).toContain('2 locks, 2 held, 1 waiting');
    expect(screen).not.toContain('\u001b[31m');
    await held.release();
    await untilPrinted(terminal, '2 locks, 2 held, 0 waiting');
    terminal.type('q');
    expect(await terminal.exitCode()).toBe(0);
    expect(terminal.stdout.endsWith('\u001b[?7h\u001b[?25h\u001b[?1049l')).toBe(true);
    await (await next).release();
  });

  it('counts the corrupt documents that it leaves out, in every frame', async () => {
    const fleet = new Fleet();
    for (const name of ['a', 'b', 'c', 'd']) await (await fleet.locks.acquireMutex(name)).release();
    for (const name of ['a', 'b', 'c']) await fleet.database.plain.tamper(name, { $set: { queue: 'none' } });
    const terminal = inTerminal(fleet, 'top', '--every', '200ms', '--no-color');
    const title = '1 lock, 0 held, 0 waiting; 3 corrupt, left out; q quits';
    await eventually('two frames', (see) => see(terminal.stdout).split(title).length > 2);
    expect(terminal.stdout).not.toContain('leasehold: ');
    terminal.type('q');
    expect(await terminal.exitCode()).toBe(0);
  });

  it('gives the screen back before it prints an exception that nothing catches', async () => {
    const source = `process.stdout.on('resize', () => { throw new Error('unexpected'); });`;
    const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(source)}` };
    const terminal = inTerminalWith(new Fleet(), env, 'top');
    await untilPrinted(terminal, '0 locks');
    terminal.resize(60, 20);
    expect(await terminal.exitCode()).toBe(70);
    const [, after = '', ...rest] = terminal.stdout.split('\u001b[?7h\u001b[?25h\u001b[?1049l');
    expect(after).toContain('unexpected');
    expect(rest).toEqual([]);
  });

  it('ends at ctrl-C too', async () => {
    const terminal = inTerminal(new Fleet(), 'top');
    await untilPrinted(terminal, '0 locks');
    terminal.type('\u0003');
    expect(await terminal.exitCode()).toBe(0);
  });
});

describe.concurrent('leasehold top in a terminal that is resized', () => {
  /** What stands on the screen after the last drawing. */
  const screenOf = (terminal: InTerminal): readonly string[] =>
    (terminal.stdout.split('\u001b[H').at(-1) ?? '').split('\u001b[K\r\n').slice(0, -1);

  it('draws at once what fits, and never a line that is too long', async () => {
    const fleet = new Fleet();
    for (let at = 0; at < 9; at += 1) {
      await (await fleet.locks.acquireMutex(`lock-${at}-${'n'.repeat(90)}`)).release();
    }
    const terminal = inTerminal(fleet, 'top', '--every', '2h', '--no-color');
    await untilPrinted(terminal, '9 locks');
    terminal.resize(30, 6);
    // The next look is in two hours.
    await eventually('it fits', (see) => see(screenOf(terminal)).length === 5);
    expect(screenOf(terminal).map((line) => line.length)).toEqual([30, 0, 30, 30, 30]);
    terminal.resize(200, 40);
    await eventually('all is there', (see) => see(screenOf(terminal)).length === 12);
    expect(screenOf(terminal)[3]).toContain(`lock-0-${'n'.repeat(90)}  mutex  0 `);
    terminal.type('q');
    expect(await terminal.exitCode()).toBe(0);
  });

  it('ends when the terminal is closed', async () => {
    const fleet = new Fleet();
    const { uri, name } = fleet.database;
    const terminal = inTerminalWith(
      fleet,
      { LEASEHOLD_URI: uri.replace('/?', `/?appName=top-${name}&`) },
      'top',
    );
    await untilPrinted(terminal, '0 locks');
    const connected = async (): Promise<number> => {
      const { inprog } = (await fleet.database.plain.client
        .db('admin')
        .command({ currentOp: 1, $all: true, appName: `top-${name}` })) as {
        inprog: readonly object[];
      };
      return inprog.length;
    };
    expect(await connected()).toBeGreaterThan(0);
    terminal.close();
    await eventually('its connections are closed', async (see) => see(await connected()) === 0);
  });
});

describe.concurrent('two terminals that want one lock', () => {
  it('get it one after the other', async () => {
    const fleet = new Fleet();
    const reads = `process.stdin.once('data', () => process.exit(0)); console.log('in')`;
    const first = inTerminal(fleet, 'run', 'x', ...node(reads));
    await untilPrinted(first, 'in');
    const second = inTerminal(fleet, 'run', 'x', ...node(reads));
    await fleet.untilQueued('x');
    expect(second.stdout).not.toContain('in');
    first.type('\r');
    expect(await first.exitCode()).toBe(0);
    await untilPrinted(second, 'in');
    second.type('\r');
    expect(await second.exitCode()).toBe(0);
  });

  it('get it after the death of the first one, when its lease is over', async () => {
    const fleet = new Fleet();
    // The first one must not lose its lease while the second one starts on a busy machine.
    const first = inTerminal(fleet, 'run', 'x', '--lease', '10s', ...node(SAYS_PARENT + LIVES));
    const parent = await parentIn(first);
    const second = inTerminal(fleet, 'run', 'x', ...node(`console.log('in')`));
    await fleet.untilQueued('x');
    process.kill(parent, 'SIGKILL');
    expect(await first.exitCode()).toBe(256 - 9);
    await untilPrinted(second, 'in');
    expect(await second.exitCode()).toBe(0);
  });

  it('exclude each other although the first one is suspended beyond its lease: it says so, ends its command, and 76', async () => {
    const fleet = new Fleet();
    const first = inTerminal(fleet, 'run', 'x', '--lease', '10s', ...node(SAYS_PARENT + STUBBORN));
    const parent = await parentIn(first);
    process.kill(parent, 'SIGSTOP');
    const second = inTerminal(fleet, 'run', 'x', ...node(`console.log('in')`));
    await untilPrinted(second, 'in');
    process.kill(parent, 'SIGCONT');
    // Two processes print these, in whichever order.
    await untilPrinted(first, /leasehold: .*"x".*\r\n/);
    await untilPrinted(first, 'told');
    expect(await first.exitCode()).toBe(76);
  });
});

describe.concurrent('a terminal shows', () => {
  it('how a command that ignores SIGTERM ends: by SIGKILL', async () => {
    const fleet = new Fleet();
    const terminal = inTerminal(fleet, 'run', 'x', '--kill-after', '5s', ...node(SAYS_PARENT + STUBBORN));
    process.kill(await parentIn(terminal), 'SIGTERM');
    await untilPrinted(terminal, 'told');
    expect(await terminal.exitCode()).toBe(137);
  });

  it('that no server can be reached, with the reason', async () => {
    const terminal = inTerminalWith(new Fleet(), { LEASEHOLD_URI: 'mongodb://127.0.0.1:9/app' }, 'top');
    expect(await terminal.exitCode()).toBe(69);
    expect(terminal.stdout).toMatch(/^leasehold: .*ECONNREFUSED/);
  });
});
