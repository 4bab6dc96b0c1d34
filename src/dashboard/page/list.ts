import type { ListChange, Row } from '../wire.js';
import type { Reach } from './connection.js';
import { elementOf, make, write } from './elements.js';
import { staying } from './order.js';
import { count, counted, isOld, span } from './times.js';
import type { Now } from './times.js';

/** One entry of a list: a row of the table and, while the entry is open, a second row below with the details. */
export interface RowView<R extends Row> {
  readonly element: HTMLTableRowElement;
  readonly details: HTMLTableRowElement;
  /** The button that opens the details. */
  readonly button: HTMLButtonElement;
  update(row: R): void;
  /** The server does not list the row any more. The next `update` lists it again. */
  unlist(): void;
  /** Shows ages and times left at this time of the server. */
  tick(now: Now): void;
}

/** What the page knows of the rows that match the filter. */
export interface Knowledge {
  /** Whether the filter waits for its first search. The rows are then those of the filter before. */
  readonly isSearching: boolean;
  /** Whether the server of the page answers, so that it can search. */
  readonly isConnected: boolean;
  /**
   * Whether the rows may be old: the state is neither `live` nor `polling`, or the filter waits for its first search.
   * If so, an empty list does not mean that nothing is stored.
   */
  readonly isOutdated: boolean;
}

/** The properties in which the lists differ. */
export interface ListKind<R extends Row> {
  /** The id of the list's section. */
  readonly id: string;
  readonly title: string;
  /** How the rows of the list are sorted, in words. */
  readonly sorted: string;
  readonly columns: readonly string[];
  readonly empty: () => Node;
  /** @param onOpen - Called when the button of the row is clicked. */
  readonly makeRow: (onOpen: (view: RowView<R>) => void) => RowView<R>;
}

/**
 * How long the rows keep their order after the last move of a pointer that is still over them, in ms: no row may move
 * away under a click.
 */
const STILL_MS = 2_000;

/**
 * While the rows keep their order (`#isStill`), at most this many rows that the server no longer lists stay in the
 * table. A row that is open or has the focus stays even beyond this number.
 */
const MAX_GONE = 50;

/** A table whose rows follow the messages of the server. A message updates only the rows that it has. */
export class List<R extends Row> {
  readonly #kind: ListKind<R>;
  readonly #section: HTMLElement;
  readonly #body = make('tbody', { role: 'rowgroup' });
  readonly #table: HTMLTableElement;
  readonly #note: HTMLElement;
  readonly #empty = make('div', { class: 'empty', hidden: true });
  readonly #views = new Map<number, RowView<R>>();
  /** The rows on the screen. The ages in another row are kept up to date only while the row is open. */
  readonly #visible = new Set<Element>();
  readonly #watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries)
      this.#visible[isIntersecting ? 'add' : 'delete'](target);
  });
  /** Rows that have never shown their ages, without which they are of another height. */
  readonly #fresh = new Set<RowView<R>>();
  /** The rows that the server no longer lists, and the time at which it was noticed. */
  readonly #goneSince = new Map<number, Now>();
  #order: readonly number[] = [];
  #matching = 0;
  #movedAtMs = -Infinity;
  #mustArrange = false;

  constructor(kind: ListKind<R>) {
    this.#kind = kind;
    this.#section = elementOf(kind.id);
    this.#note = make('p', { class: 'note' });
    const head = kind.columns.map((text) => make('th', { role: 'columnheader', scope: 'col' }, text));
    this.#table = make(
      'table',
      { role: 'table', 'aria-labelledby': `${kind.id}-title`, class: kind.id },
      make('thead', { role: 'rowgroup' }, make('tr', { role: 'row' }, ...head)),
      this.#body,
    );
    const title = make('h2', { id: `${kind.id}-title` }, kind.title);
    this.#section.append(make('div', { class: 'title' }, title, this.#note), this.#table, this.#empty);
    this.#body.addEventListener('pointermove', () => (this.#movedAtMs = performance.now()));
    this.#body.addEventListener('pointerleave', () => (this.#movedAtMs = -Infinity));
  }

  receive({ matching, order, rows }: ListChange<R>, { isWhole, isOtherFilter }: Reach): void {
    this.#matching = matching;
    // While the user looks at the list, rows that are gone stay (up to `MAX_GONE`), and new rows come below them. After
    // a change of the filter, nearly all rows may be gone, and the user expects other rows. So the order changes at once.
    this.#mustArrange ||= isOtherFilter;
    if (order !== undefined || isWhole) this.#order = order ?? [];
    for (const row of rows) this.#viewOf(row.key).update(row);
  }

  /**
   * Puts the rows in order, unless the user is looking at them and the order may wait. Shows the ages and times left.
   */
  render(now: Now, filter: string, { isSearching, isConnected, isOutdated }: Knowledge): void {
    const isStill = !this.#mustArrange && this.#isStill;
    this.#mustArrange = false;
    const listed = new Set(this.#order);
    this.#unlist(listed, now);
    this.#arrange(listed, isStill);
    for (const [key, view] of this.#views) {
      const isSeen = this.#visible.has(view.element) || view.details.isConnected;
      if (isSeen || this.#fresh.has(view)) view.tick(this.#goneSince.get(key) ?? now);
    }
    this.#fresh.clear();
    const shown = this.#order.length;
    // Not `shown`: rows that are gone may still be in use.
    const isEmpty = this.#body.childElementCount === 0;
    this.#table.hidden = isEmpty;
    this.#empty.hidden = !isEmpty || isOutdated;
    if (isEmpty) this.#showEmpty(filter);
    if (isSearching) {
      const what = isConnected ? 'searching' : 'not searched';
      write(this.#note, `${what}${shown > 0 && isOld(now) ? `, rows from ${span(now.ageMs)} ago` : ''}`);
    } else write(this.#note, isEmpty ? '' : this.#noteOf(shown, filter, isStill, now));
  }

  #noteOf(shown: number, filter: string, isStill: boolean, now: Now): string {
    const all = filter === '' ? count(this.#matching) : counted(this.#matching, 'match', 'matches');
    const which = this.#matching > shown ? `the first ${count(shown)} of ${all}` : all;
    const age = isOld(now) ? `, ${span(now.ageMs)} old` : '';
    return `${which}, ${isStill ? 'order held while you look' : this.#kind.sorted}${age}`;
  }

  /** The buttons of the rows, from top to bottom. */
  get buttons(): readonly HTMLButtonElement[] {
    return [...this.#body.querySelectorAll<HTMLButtonElement>('tr.row button.name')];
  }

  get #isStill(): boolean {
    if (performance.now() - this.#movedAtMs < STILL_MS) return true;
    return this.#body.querySelector('tr.details, :focus-visible') !== null;
  }

  #viewOf(key: number): RowView<R> {
    const known = this.#views.get(key);
    if (known !== undefined) return known;
    const view = this.#kind.makeRow((opened) => {
      this.#toggle(opened);
    });
    this.#views.set(key, view);
    this.#fresh.add(view);
    this.#watcher.observe(view.element);
    return view;
  }

  #toggle({ element, details, button }: RowView<R>): void {
    const isOpen = button.getAttribute('aria-expanded') === 'true';
    button.setAttribute('aria-expanded', String(!isOpen));
    if (isOpen) details.remove();
    else element.after(details);
  }

  /** Finds the rows that the server no longer lists. Their ages stand still, because nothing more is heard of them. */
  #unlist(listed: ReadonlySet<number>, now: Now): void {
    for (const [key, view] of this.#views) {
      view.element.classList.toggle('gone', !listed.has(key));
      if (listed.has(key)) this.#goneSince.delete(key);
      else if (!this.#goneSince.has(key)) {
        this.#goneSince.set(key, { ms: now.ms, ageMs: Infinity });
        view.unlist();
      }
    }
  }

  /**
   * If `isStill`, rows that the server no longer lists stay where they are: up to `MAX_GONE` of them, and those that
   * are in use. New rows come last.
   */
  #arrange(listed: ReadonlySet<number>, isStill: boolean): void {
    const gone = [...this.#views].filter(([key]) => !listed.has(key));
    const staysWhileStill = gone.filter(([, { element }]) => isStill && element.isConnected);
    const kept = new Set(staysWhileStill.slice(-MAX_GONE).map(([key]) => key));
    for (const [key, view] of gone) if (!kept.has(key) && !(isStill && isInUse(view))) this.#drop(key, view);
    const views = this.#order.flatMap((key) => this.#views.get(key) ?? []);
    if (isStill) {
      for (const { element } of views) if (!element.isConnected) this.#body.append(element);
      return;
    }
    const placeOf = new Map<Element, number>(views.map(({ element }, place) => [element, place]));
    const stay = staying([...this.#body.children].flatMap((element) => placeOf.get(element) ?? []));
    let next: Element | null = null;
    for (const [place, { element, details }] of [...views.entries()].reverse()) {
      if (!element.isConnected || !stay.has(place)) {
        this.#body.insertBefore(element, next);
        if (details.isConnected) element.after(details);
      }
      next = element;
    }
  }

  #drop(key: number, { element, details }: RowView<R>): void {
    element.remove();
    details.remove();
    this.#watcher.unobserve(element);
    this.#visible.delete(element);
    this.#views.delete(key);
    this.#goneSince.delete(key);
  }

  #showEmpty(filter: string): void {
    const key = filter === '' ? 'nothing stored' : `filter ${filter}`;
    if (this.#empty.dataset['of'] === key) return;
    this.#empty.dataset['of'] = key;
    const none = make('p', {}, `Nothing here matches the filter. `, make('kbd', {}, 'Esc'), ' clears it.');
    this.#empty.replaceChildren(filter === '' ? this.#kind.empty() : none);
  }
}

/** Whether the row is open or has the focus. */
const isInUse = ({ element, details }: RowView<Row>): boolean =>
  details.isConnected || element.contains(document.activeElement);
