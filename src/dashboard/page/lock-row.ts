import type { HolderRow, LockRow } from '../wire.js';
import { make, write } from './elements.js';
import type { RowView } from './list.js';
import { LockDetails } from './lock-details.js';
import type { Revoke } from './lock-details.js';
import { UNLISTED, cell, controls, nameButton, party, showFigure, showName } from './row-parts.js';
import { count, isOld, span } from './times.js';
import type { Now } from './times.js';

const KINDS: Readonly<Record<LockRow['kind'], string>> = {
  mutex: 'mutex',
  'reader-writer': 'reader-writer',
  semaphore: 'semaphore',
  election: 'election',
  corrupt: 'corrupt document',
};

/** The row of a lock or of an election. */
export class LockRowView implements RowView<LockRow> {
  readonly element: HTMLTableRowElement;
  readonly details: HTMLTableRowElement;
  readonly button: HTMLButtonElement;
  readonly #whole: LockDetails;
  readonly #name = cell('Name', 'name');
  readonly #kind = cell('Kind', 'kind');
  readonly #holder: HTMLTableCellElement;
  readonly #age: HTMLTableCellElement;
  readonly #left = cell('Time left', 'number');
  readonly #queue: HTMLTableCellElement;
  readonly #wait = cell('First waits', 'number');
  readonly #moves = cell('Hand-overs', 'number');
  readonly #losses = cell('Lost', 'number');
  #row: LockRow | undefined;
  #isListed = true;

  /** @param revoke - `null` if this dashboard is read-only. */
  constructor(isElection: boolean, revoke: Revoke | null, onOpen: (view: LockRowView) => void) {
    this.#whole = new LockDetails(revoke);
    this.button = nameButton(() => {
      if (this.#row !== undefined) this.#whole.show(this.#row);
      onOpen(this);
    });
    this.#name.append(this.button);
    this.#holder = cell(isElection ? 'Leader' : 'Held by', 'holder');
    this.#age = cell(isElection ? 'Leads for' : 'Held for', 'number');
    this.#queue = cell(isElection ? 'Standbys' : 'Waiting', 'number queue');
    const cells = isElection
      ? [this.#name, this.#holder, this.#age, this.#left, this.#queue]
      : [
          this.#name,
          this.#kind,
          this.#holder,
          this.#age,
          this.#left,
          this.#queue,
          this.#wait,
          this.#moves,
          this.#losses,
        ];
    this.element = make('tr', { role: 'row', class: 'row' }, ...cells);
    const content = make(
      'td',
      { role: 'cell', class: 'content', colspan: String(cells.length) },
      this.#whole.element,
    );
    this.details = make('tr', { role: 'row', class: 'details' }, content);
    controls(this.button, this.details);
  }

  update(row: LockRow): void {
    const before = this.#row;
    this.#row = row;
    if (before === undefined) showName(this.button, row.name);
    const [first] = row.holders;
    const isOtherParty = isOther(before?.holders[0], first) || before?.holderCount !== row.holderCount;
    if (before === undefined || isOtherParty || !this.#isListed) {
      this.#holder.replaceChildren(...this.#holderWords(row));
    }
    this.#isListed = true;
    const size = row.limit === undefined ? '' : ` of ${count(row.limit)}`;
    write(this.#kind, `${KINDS[row.kind]}${size}`);
    showFigure(this.#queue, row.waiterCount === 0 ? null : count(row.waiterCount));
    showFigure(this.#moves, row.handOvers === 0 ? null : count(row.handOvers));
    showFigure(this.#losses, row.losses === 0 ? null : count(row.losses));
    this.#losses.classList.toggle('bad', row.losses > 0);
    this.element.classList.toggle('corrupt', row.kind === 'corrupt');
    this.element.classList.toggle('contended', row.waiterCount > 0);
    if (this.details.isConnected) this.#whole.show(row);
  }

  unlist(): void {
    this.#isListed = false;
    write(this.#holder, UNLISTED);
  }

  tick(now: Now): void {
    if (this.#row === undefined) return;
    const { ms: nowMs } = now;
    const [holder] = this.#row.holders;
    const [waiter] = this.#row.waiters;
    showFigure(this.#age, holder === undefined ? null : span(nowMs - holder.since));
    const leftMs = holder === undefined || isOld(now) ? null : holder.until - nowMs;
    showFigure(this.#left, leftMs === null ? null : span(leftMs));
    this.#left.classList.toggle('warn', leftMs !== null && leftMs < 2_000);
    showFigure(this.#wait, waiter === undefined ? null : span(nowMs - waiter.since));
    if (this.details.isConnected) this.#whole.tick(now);
  }

  #holderWords({ kind, holders, holderCount }: LockRow): (Node | string)[] {
    const [first] = holders;
    if (kind === 'corrupt') return ['the stored document is not well-formed'];
    if (first === undefined)
      return [make('span', { class: 'free' }, kind === 'election' ? 'no leader' : 'free')];
    const parties = make('div', { class: 'parties' }, party(first));
    if (holderCount > 1)
      parties.append(make('span', { class: 'more' }, `and ${count(holderCount - 1)} more`));
    return [parties];
  }
}

const isOther = (a: HolderRow | undefined, b: HolderRow | undefined): boolean =>
  a?.id !== b?.id || a?.who !== b?.who || a?.why !== b?.why;
