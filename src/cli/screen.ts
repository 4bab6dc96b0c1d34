/** Shows the alternate screen, hides the cursor, and cuts long lines instead of wrapping them. `LEAVE` undoes all. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const END_OF_LINE = '\u001b[K';
const END_OF_SCREEN = '\u001b[J';

/** Used for a pseudo-terminal whose size was never set: it has 0 columns and 0 rows. */
const COLUMNS = 80;
const ROWS = 24;

const CTRL_C = '\u0003';

/** Makes the lines to show on a terminal with this many columns. No more than `rows` of them are shown. */
export type Lines = (columns: number, rows: number) => readonly string[];

/** Takes the whole terminal, and draws again when the size changes. The disposal restores the terminal. */
export class Screen implements Disposable {
  readonly #quit = new AbortController();
  #lines: Lines = () => [];

  constructor() {
    const { stdin, stdout } = process;
    if (stdin.isTTY) stdin.setRawMode(true);
    stdin.setEncoding('utf8').on('data', this.#typed);
    // If the terminal is closed, stdin fails, either before SIGHUP arrives or after it. Without this listener, the
    // failure would end the process as an uncaught exception.
    stdin.on('error', this.#leave);
    stdout.on('resize', this.#draw);
    stdout.write(ENTER);
    // An exception that nothing catches is printed after that, and printed where the user sees it later.
    process.on('uncaughtExceptionMonitor', this.#restore);
    process.on('exit', this.#restore);
  }

  /** Aborts when the user presses `q` or ctrl-C, or when the terminal is closed. */
  get quit(): AbortSignal {
    return this.#quit.signal;
  }

  show(lines: Lines): void {
    this.#lines = lines;
    this.#draw();
  }

  [Symbol.dispose](): void {
    const { stdin, stdout } = process;
    stdin.off('data', this.#typed);
    if (stdin.isTTY) stdin.setRawMode(false);
    stdin.pause();
    stdout.off('resize', this.#draw);
    this.#restore();
  }

  readonly #restore = (): void => {
    process.off('uncaughtExceptionMonitor', this.#restore);
    process.off('exit', this.#restore);
    process.stdout.write(LEAVE);
  };

  readonly #draw = (): void => {
    const { stdout } = process;
    const rows = (stdout.rows || ROWS) - 1;
    const lines = this.#lines(stdout.columns || COLUMNS, rows).slice(0, rows);
    process.stdout.write(`${HOME}${lines.map((line) => `${line}${END_OF_LINE}\n`).join('')}${END_OF_SCREEN}`);
  };

  readonly #typed = (text: string): void => {
    // In raw mode ctrl-C is a key and no signal.
    if (text.includes('q') || text.includes(CTRL_C)) this.#leave();
  };

  readonly #leave = (): void => {
    this.#quit.abort();
  };
}
