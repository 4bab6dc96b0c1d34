import { plain } from '../hostile-characters.js';
import type { HolderRow, LockRow } from '../wire.js';
import { make, write } from './elements.js';
import { FormGuard } from './form-guard.js';
import { tell } from './notice.js';
import { Ticking, holderDetails, waiterDetails } from './row-parts.js';
import { count, counted, isOld, span } from './times.js';
import type { Now } from './times.js';

const FREE = 'Nobody holds it.';

const NO_HOLDERS: Readonly<Record<LockRow['kind'], string>> = {
  mutex: FREE,
  'reader-writer': FREE,
  semaphore: FREE,
  election: 'Nobody leads.',
  corrupt:
    'Its holders cannot be read. Make sure that no process holds this lock, then delete the document: see “A corrupt document” in docs/operations.md.',
};

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
  /** By the ids of the leases, in the order of the elements. */
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
    this.#dropEnded();
    this.#queueTicking.tick(now);
  }

  #showHolders({ name, kind, holders, holderCount }: LockRow): void {
    const present = new Set(holders.map(({ id }) => id));
    for (const [id, holding] of this.#holdings) if (!present.has(id)) holding.end();
    this.#dropEnded();
    for (const holder of holders) {
      const known = this.#holdings.get(holder.id);
      const holding = known ?? new Holding(name, this.#revoke);
      holding.show(holder);
      if (known !== undefined) continue;
      this.#holdings.set(holder.id, holding);
      this.#holders.append(holding.element);
    }
    const unlisted = holderCount - holders.length;
    const more = unlisted > 0 ? `and ${counted(unlisted, 'more holder')}` : '';
    write(this.#unlistedHolders, holders.length === 0 ? NO_HOLDERS[kind] : more);
  }

  /**
   * Removes the holdings that have ended, but for one that is in use and those before it: a click or a key that is meant
   * for this hold must not revoke another one.
   */
  #dropEnded(): void {
    const all = [...this.#holdings];
    const lastInUse = all.findLastIndex(([, holding]) => holding.isInUse);
    for (const [id, { element }] of all.slice(lastInUse + 1).filter(([, { hasEnded }]) => hasEnded)) {
      element.remove();
      this.#holdings.delete(id);
    }
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

const TOO_SOON =
  'Not revoked: this form came or moved here less than a second ago. Make sure that it is the one that you mean, then revoke again.';

/** One holder, and the form that revokes its hold, unless the dashboard is read-only. */
class Holding {
  readonly element = make('div', { class: 'holding' });
  #terms = make('dl');
  #ticking = new Ticking();
  #holder: HolderRow | undefined;
  #shown = '';
  #hasEnded = false;
  #saysThatItEnded = false;
  readonly #form = make('div', { class: 'revoking', role: 'group' });

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
    this.#form.append(why, make('label', {}, force, 'by force, at once'), button);
    const form = make('form', {}, this.#form);
    const guard = new FormGuard(form, button);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
    });
    // Enter in a field of the form is a click on the button, too.
    button.addEventListener('click', (event) => {
      if (this.#holder === undefined) return;
      if (guard.isTooSoon(event)) tell(name, this.#holder.who, TOO_SOON);
      else revoke(name, this.#holder, why.value, force.checked);
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
    const terms = holderDetails(holder, (now) => this.#timeLeft(now), this.#ticking);
    this.#terms.replaceWith(terms);
    this.#terms = terms;
    this.#form.setAttribute('aria-label', `Revoke the hold of ${plain(holder.who)}`);
  }

  /** The hold is no longer stored. */
  end(): void {
    this.#hasEnded = true;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Whether the pointer or the focus is in it. */
  get isInUse(): boolean {
    return this.element.matches(':hover, :focus-within');
  }

  tick(now: Now): void {
    if (this.#saysThatItEnded) return;
    this.#ticking.tick(now);
    this.#saysThatItEnded = this.#hasEnded;
  }

  #timeLeft(now: Now): string {
    if (this.#hasEnded) return 'the hold has ended';
    return this.#holder === undefined || isOld(now) ? '–' : span(this.#holder.until - now.ms);
  }
}
