import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { eventually, within } from '../../../lab/patience.js';
import type { CandidatesTask, Line, Order, Says } from './candidate-lines.js';

type LineOf<S extends Says> = Line & { readonly says: S };

/** A process of candidates as its parent sees it. Killed when the test ends, if it has not ended by itself. */
export class CandidateProcess implements AsyncDisposable {
  readonly candidateIds: readonly string[];
  readonly lines: Line[] = [];
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #ended: Promise<number | null>;
  #complaints = '';
  #hasEnded = false;

  private constructor(program: string, task: CandidatesTask) {
    this.candidateIds = task.candidateIds;
    this.#child = spawn(process.execPath, [program, JSON.stringify(task)], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      this.#take(line);
    });
    this.#child.stderr.on('data', (chunk: Buffer) => (this.#complaints += chunk.toString()));
    // An order to a process that has just been killed is no failure of the test.
    this.#child.stdin.on('error', () => undefined);
    this.#ended = once(this.#child, 'close').then(([code]) => {
      this.#hasEnded = true;
      return code as number | null;
    });
  }

  /** Started, connected, and waiting for orders. */
  static async start(program: string, task: CandidatesTask): Promise<CandidateProcess> {
    const candidates = new CandidateProcess(program, task);
    await candidates.heard('ready');
    return candidates;
  }

  order(order: Order): void {
    this.#child.stdin.write(`${JSON.stringify(order)}\n`);
  }

  /** The n-th line of this kind, as soon as there is one. */
  async heard<S extends Says>(says: S, nth = 1): Promise<LineOf<S>> {
    return await eventually(`the process of ${this.candidateIds.join()} says "${says}"`, () => {
      const line = this.all(says)[nth - 1];
      if (line === undefined && this.#hasEnded) throw new Error(`it ended early: ${this.#complaints}`);
      return line;
    });
  }

  all<S extends Says>(says: S): LineOf<S>[] {
    return this.lines.filter((line): line is LineOf<S> => line.says === says);
  }

  /** Which of its candidates lead, by what they believe themselves. */
  async leaders(): Promise<readonly string[]> {
    const before = this.all('leads').length;
    this.order({ do: 'say who leads' });
    return (await this.heard('leads', before + 1)).candidates;
  }

  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal);
  }

  /** Kills it and waits until it is gone; what it has written is read by then. */
  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.#ended;
  }

  /** Tells it to close everything; it must end by itself, and have had nothing to complain about. */
  async end(): Promise<void> {
    this.order({ do: 'end' });
    const code = await within(20_000, `the process of ${this.candidateIds.join()} ends`, this.#ended);
    if (code !== 0 || this.#complaints !== '')
      throw new Error(`it ended with ${String(code)}: ${this.#complaints}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#hasEnded) await this.kill();
  }

  /** Whoever was killed may have said half a line. */
  #take(line: string): void {
    try {
      this.lines.push(JSON.parse(line) as Line);
    } catch (error) {
      if (this.#child.signalCode === null) throw error;
    }
  }
}
