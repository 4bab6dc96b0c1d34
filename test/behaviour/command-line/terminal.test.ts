import { describe, expect, it } from 'vitest';

import { later } from '../../../lab/patience.js';

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

useCommandLine();

const COUNTS = `let n = 0; process.on('SIGINT', () => { n += 1; setTimeout(() => { console.log('count ' + n); process.exit(5); }, 500); });`;

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
    expect(terminal.stdout.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
    await (await next).release();
  });

  it('ends at ctrl-C too', async () => {
    const terminal = inTerminal(new Fleet(), 'top');
    await untilPrinted(terminal, '0 locks');
    terminal.type('\u0003');
    expect(await terminal.exitCode()).toBe(0);
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
});
