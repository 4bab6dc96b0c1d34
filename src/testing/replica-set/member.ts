import type { Time } from '../time/time.js';
import { Documents } from './documents.js';
import { apply, undo } from './oplog.js';
import type { Change, Entry } from './oplog.js';

export type Role = 'primary' | 'secondary' | 'down';

/** A caller that waits until a majority has the first `length` entries. */
interface MajorityWait {
  readonly length: number;
  readonly done: (isDurable: boolean) => void;
}

/**
 * One member of the replica set: its oplog, and its documents in two states, the latest one and the one that a majority
 * has.
 */
export class Member {
  readonly address: string;
  readonly latest: Documents = new Documents();
  readonly committed: Documents = new Documents();
  readonly #time: Time;
  readonly #oplog: Entry[] = [];
  /** How many entries a majority has, as far as this member knows. */
  #committedLength = 0;
  #waits: MajorityWait[] = [];
  readonly #onCommitted = new Set<() => void>();
  role: Role = 'secondary';
  term = 0;
  /** How far the clock of this member is ahead of the true time, in ms. */
  skewMs = 0;
  /** What the clock showed when `atOneMoment` began; `undefined` outside of it. */
  #momentMs: number | undefined;

  constructor(address: string, time: Time) {
    this.address = address;
    this.#time = time;
  }

  /** The clock of this member, in whole ms like a server's. */
  get nowMs(): number {
    return this.#momentMs ?? Math.floor(this.#time.wallMs() + this.skewMs);
  }

  /**
   * Runs a command or a purge, which reads the clock once: its filters, its updates and its entries have the same time.
   * Otherwise, in real time, an entry could say that a lease was over before the update that extended the lease.
   */
  atOneMoment(run: () => void): void {
    const outerMs = this.#momentMs;
    this.#momentMs = this.nowMs;
    try {
      run();
    } finally {
      this.#momentMs = outerMs;
    }
  }

  get length(): number {
    return this.#oplog.length;
  }

  get committedLength(): number {
    return this.#committedLength;
  }

  get lastTerm(): number {
    return this.#oplog.at(-1)?.term ?? 0;
  }

  entryAt(index: number): Entry | undefined {
    return this.#oplog[index];
  }

  has(change: Change): boolean {
    return this.#oplog.some((entry) => entry.change === change);
  }

  /** Only a member that acts as primary appends. */
  append(change: Change): void {
    const entry = { term: this.term, wallMs: this.nowMs, change };
    this.#oplog.push(entry);
    apply(entry, this.latest);
  }

  /**
   * Makes this oplog agree with the first `length` entries of the source (with fewer entries, if the source has become
   * shorter). Rolls back from the first entry that differs, and copies the missing entries.
   */
  follow(source: Member, length: number): void {
    let common = Math.min(length, this.length);
    while (common > 0 && this.#oplog[common - 1] !== source.entryAt(common - 1)) common -= 1;
    if (common < this.length && common < length) this.#rollBackTo(common);
    for (let index = this.length; index < length; index += 1) {
      const entry = source.entryAt(index);
      if (entry === undefined) return;
      this.#oplog.push(entry);
      apply(entry, this.latest);
    }
  }

  #rollBackTo(length: number): void {
    if (length < this.#committedLength) throw new Error('an entry that a majority has is never rolled back');
    for (const entry of this.#oplog.splice(length).reverse()) undo(entry, this.latest);
  }

  commit(length: number): void {
    const reached = Math.min(length, this.length);
    if (reached <= this.#committedLength) return;
    for (const entry of this.#oplog.slice(this.#committedLength, reached)) apply(entry, this.committed);
    this.#committedLength = reached;
    const waits = this.#waits;
    this.#waits = waits.filter((wait) => wait.length > reached);
    for (const wait of waits) if (wait.length <= reached) wait.done(true);
    for (const notify of [...this.#onCommitted]) notify();
  }

  /**
   * Calls back with `true` when a majority has everything that this member has now. Calls back with `false` if this
   * member steps down or stops before that.
   */
  whenDurable(done: (isDurable: boolean) => void): void {
    if (this.#committedLength >= this.length) done(true);
    else this.#waits.push({ length: this.length, done });
  }

  /** Calls back whenever this member learns that a majority has more entries. The returned function unsubscribes. */
  onCommitted(notify: () => void): () => void {
    this.#onCommitted.add(notify);
    return () => this.#onCommitted.delete(notify);
  }

  /** Makes this member a secondary, or takes it down. The callers that wait for a majority get `false`. */
  leaveOffice(role: 'secondary' | 'down'): void {
    this.role = role;
    const waits = this.#waits;
    this.#waits = [];
    for (const { done } of waits) done(false);
  }
}
