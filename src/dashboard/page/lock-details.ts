import type { HolderRow, LockRow } from '../wire.js';
import { make, plain, write } from './elements.js';
import { Ticking, holderDetails, waiterDetails } from './row-parts.js';
import { count, counted } from './times.js';
import type { Now } from './times.js';

/** Asks the server to revoke one hold. */
export type Revoke = (name: string, holder: HolderRow, why: string, force: boolean) => void;

/** Shows the holders and the queue of one lock. Inputs and buttons stay the same elements while the rest changes. */
export class LockDetails {
  readonly element = make('div', { class: 'whole-lock' });
  readonly #revoke: Revoke | null;
  readonly #name = make('p', { class: 'whole' });
  readonly #holders = make('div', { class: 'holdings' });
  readonly #unlistedHolders = make('p', { class: 'more' });
  readonly #queue = make('div');
  readonly #holdings = new Map<string, Holding>();
  #queueTicking = new Ticking();
  #queueShown = '';

  /** @param revoke - `null` if this dashboard is read-only. */
  constructor(revoke: Revoke | null) {
    this.#revoke = revoke;
    this.element.append(this.#name, this.#holders, this.#unlistedHolders, this.#queue);
  }

  show(row: LockRow): void {
    write(this.#name, plain(row.name));
    this.#showHolders(row);
    this.#showQueue(row);
  }

  tick(now: Now): void {
    for (const holding of this.#holdings.values()) holding.tick(now);
    this.#queueTicking.tick(now);
  }

  #showHolders({ name, kind, holders, holderCount }: LockRow): void {
    for (const [id, { element }] of this.#holdings) {
      if (holders.some((holder) => holder.id === id)) continue;
      element.remove();
      this.#holdings.delete(id);
    }
    for (const holder of holders) {
      const known = this.#holdings.get(holder.id);
      const holding = known ?? new Holding(name, this.#revoke);
      holding.show(holder);
      if (known !== undefined) continue;
      this.#holdings.set(holder.id, holding);
      this.#holders.append(holding.element);
    }
    const none = kind === 'election' ? 'Nobody leads.' : 'Nobody holds it.';
    const unlisted = holderCount - holders.length;
    const more = unlisted > 0 ? `and ${counted(unlisted, 'more holder')}` : '';
    write(this.#unlistedHolders, holders.length === 0 ? none : more);
  }

  #showQueue({ kind, waiters, waiterCount }: LockRow): void {
    const shown = JSON.stringify([waiters, waiterCount]);
    if (shown === this.#queueShown) return;
    this.#queueShown = shown;
    this.#queueTicking = new Ticking();
    if (waiterCount === 0) {
      this.#queue.replaceChildren();
      return;
    }
    const places = waiters.map((waiter) => waiterDetails(waiter, this.#queueTicking));
    const title = make('h3', {}, kind === 'election' ? 'Standbys' : 'Queue');
    this.#queue.replaceChildren(title, make('ol', { class: 'places' }, ...places));
    const unlisted = waiterCount - waiters.length;
    if (unlisted > 0)
      this.#queue.append(make('p', { class: 'more' }, `and ${count(unlisted)} more behind them`));
  }
}

/** One holder, and the form that revokes its hold, unless the dashboard is read-only. */
class Holding {
  readonly element = make('div', { class: 'holding' });
  #terms = make('dl');
  #ticking = new Ticking();
  #holder: HolderRow | undefined;
  #shown = '';

  constructor(name: string, revoke: Revoke | null) {
    this.element.append(this.#terms);
    if (revoke === null) return;
    const why = make('input', {
      type: 'text',
      maxlength: '1024',
      placeholder: 'Why',
      'aria-label': 'Why it is revoked',
    });
    const force = make('input', { type: 'checkbox' });
    const button = make('button', { type: 'submit', class: 'revoke' }, 'Revoke');
    const form = make(
      'form',
      { class: 'revoking' },
      why,
      make('label', {}, force, ' by force, at once'),
      button,
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (this.#holder !== undefined) revoke(name, this.#holder, why.value, force.checked);
    });
    this.element.append(form);
  }

  show(holder: HolderRow): void {
    this.#holder = holder;
    // An extension changes only `until`, which `holderDetails` reads at each tick.
    const shown = JSON.stringify({ ...holder, until: 0 });
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#ticking = new Ticking();
    const terms = holderDetails(() => this.#holder ?? holder, this.#ticking);
    this.#terms.replaceWith(terms);
    this.#terms = terms;
  }

  tick(now: Now): void {
    this.#ticking.tick(now);
  }
}
