import { textOf } from '../error-text.js';
import type { LockSnapshot } from '../index.js';
import { openSession } from './connection.js';
import type { CommonOptions, Session } from './connection.js';
import { EXIT } from './exit-codes.js';
import { Interruption } from './interruption.js';
import { LOCK_HEAD, lockCells } from './lock-text.js';

export interface TopOptions extends CommonOptions {
  readonly every: number;
}

/** Shows the alternate screen of the terminal and hides the cursor. `LEAVE` undoes both. */
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const END_OF_LINE = '\u001b[K';
const END_OF_SCREEN = '\u001b[J';

const COLUMNS = 80;
const ROWS = 24;

const CTRL_C = '\u0003';

/** Shows the busiest locks until `q`. Without a terminal, prints them once. */
export async function top(prefix: string | undefined, options: TopOptions): Promise<number> {
  using interruption = new Interruption();
  const { signal } = interruption;
  await using session = await openSession(options, { label: 'leasehold top', signal });
  const { output } = session;
  if (output.isJson || !process.stdout.isTTY) {
    const snapshots = await busiest(session, prefix);
    if (output.isJson) for (const snapshot of snapshots) output.row(snapshot);
    else output.table(LOCK_HEAD, snapshots.map(lockCells));
    return EXIT.ok;
  }
  using keys = new Keys();
  signal.addEventListener('abort', () => keys.onQuit?.());
  process.stdout.write(ENTER);
  try {
    while (!signal.aborted && !keys.hasQuit) {
      const lines = await frame(session, prefix);
      const { columns, rows } = process.stdout;
      // A pseudo-terminal whose size was never set has 0 columns and 0 rows.
      const shown = lines(columns || COLUMNS).slice(0, (rows || ROWS) - 1);
      process.stdout.write(
        `${HOME}${shown.map((line) => `${line}${END_OF_LINE}\n`).join('')}${END_OF_SCREEN}`,
      );
      await pause(options.every, keys, signal);
    }
  } finally {
    process.stdout.write(LEAVE);
  }
  if (signal.aborted) throw signal.reason;
  return EXIT.ok;
}

/** The screen for a width. If the store does not answer, the screen says so: the store may answer the next time. */
async function frame(
  session: Session,
  prefix: string | undefined,
): Promise<(columns: number) => readonly string[]> {
  const { output } = session;
  try {
    const snapshots = await busiest(session, prefix);
    const held = snapshots.filter(({ holders }) => holders.length > 0).length;
    const waiting = snapshots.reduce((sum, { waiters }) => sum + waiters.length, 0);
    const title = `leasehold top: ${snapshots.length} locks, ${held} held, ${waiting} waiting; q quits`;
    return (columns) => [
      ...output.tableLines([title], [], columns),
      '',
      ...output.tableLines(LOCK_HEAD, snapshots.map(lockCells), columns),
    ];
  } catch (error) {
    return (columns) =>
      output.tableLines(['unavailable, reconnecting'], [[{ text: textOf(error) }]], columns);
  }
}

/** The locks with the most waiters first, then those that are held, each by name. */
async function busiest({ locks }: Session, prefix: string | undefined): Promise<readonly LockSnapshot[]> {
  const all: LockSnapshot[] = [];
  for await (const snapshot of locks.list({ prefix })) all.push(snapshot);
  return all.sort(
    (a, b) =>
      b.waiters.length - a.waiters.length ||
      Number(b.holders.length > 0) - Number(a.holders.length > 0) ||
      (a.name < b.name ? -1 : 1),
  );
}

/** Reads single keys from the terminal, without waiting for the end of a line. */
class Keys implements Disposable {
  hasQuit = false;
  onQuit: (() => void) | undefined;

  constructor() {
    const { stdin } = process;
    if (stdin.isTTY) stdin.setRawMode(true);
    stdin.setEncoding('utf8').on('data', this.#typed);
  }

  [Symbol.dispose](): void {
    const { stdin } = process;
    stdin.off('data', this.#typed);
    if (stdin.isTTY) stdin.setRawMode(false);
    stdin.pause();
  }

  readonly #typed = (text: string): void => {
    // In raw mode ctrl-C is a key and no signal.
    if (!text.includes('q') && !text.includes(CTRL_C)) return;
    this.hasQuit = true;
    this.onQuit?.();
  };
}

/** Waits for `ms`, but no longer than until a key quits or the signal aborts. */
async function pause(ms: number, keys: Keys, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    keys.onQuit = () => {
      clearTimeout(timer);
      resolve();
    };
    if (keys.hasQuit || signal.aborted) keys.onQuit();
  });
}
