import type { BoardMessage, JobRow, ListChange, LockRow, Row } from '../../../src/dashboard/wire.js';
import { BUSY_MACHINE_MS, within } from '../../../lab/patience.js';
import type { DashboardHandler } from '../../../src/dashboard/index.js';

/** What a page would show of one list. */
class ShownList<R extends Row> {
  readonly #rows = new Map<number, R>();
  #order: readonly number[] = [];
  matching = 0;

  receive({ matching, order, rows }: ListChange<R>): void {
    this.matching = matching;
    this.#order = order ?? this.#order;
    for (const row of rows) this.#rows.set(row.key, row);
  }

  get rows(): readonly R[] {
    return this.#order.flatMap((key) => this.#rows.get(key) ?? []);
  }

  get names(): readonly string[] {
    return this.rows.map(({ name }) => name);
  }

  of(name: string): R | undefined {
    return this.rows.find((row) => row.name === name);
  }
}

/** A viewer of the events that reads only when it is told to. */
export class EventReader implements AsyncDisposable {
  readonly locks = new ShownList<LockRow>();
  readonly elections = new ShownList<LockRow>();
  readonly jobs = new ShownList<JobRow>();
  readonly messages: BoardMessage[] = [];
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #text = '';

  constructor(response: Response) {
    if (response.body === null) throw new Error('the response has no body');
    this.#reader = (response.body as ReadableStream<Uint8Array>).getReader();
  }

  get last(): BoardMessage | undefined {
    return this.messages.at(-1);
  }

  /** Reads one chunk. False: the stream has ended. */
  async read(): Promise<boolean> {
    const { done, value } = await within(BUSY_MACHINE_MS, 'the stream goes on', this.#reader.read());
    if (done) return false;
    const events = `${this.#text}${new TextDecoder().decode(value)}`.split('\n\n');
    this.#text = events.pop() ?? '';
    for (const event of events) {
      const line = event.split('\n').find((each) => each.startsWith('data: '));
      if (line !== undefined) this.#receive(JSON.parse(line.slice('data: '.length)) as BoardMessage);
    }
    return true;
  }

  /** Reads until the condition holds for what is shown. */
  async until(what: string, condition: (reader: this) => boolean): Promise<void> {
    const reading = async (): Promise<void> => {
      while (!condition(this)) if (!(await this.read())) throw new Error(`the stream ended before: ${what}`);
    };
    await within(BUSY_MACHINE_MS, what, reading()).catch((error: unknown) => {
      throw new Error(`${String(error)}; last: ${JSON.stringify(this.last)}`, { cause: error });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The server may have ended the stream already.
    await this.#reader.cancel().catch(() => undefined);
  }

  #receive(message: BoardMessage): void {
    this.messages.push(message);
    const { found } = message;
    if (found === undefined) return;
    this.locks.receive(found.locks);
    this.elections.receive(found.elections);
    this.jobs.receive(found.jobs);
  }
}

/** Opens the events of a handler. */
export async function viewing(handler: DashboardHandler, path = '/events'): Promise<EventReader> {
  return new EventReader(await handler(new Request(`http://dashboard.test${path}`)));
}
