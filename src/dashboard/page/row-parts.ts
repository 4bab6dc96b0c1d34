import { plain } from '../hostile-characters.js';
import type { HolderRow, WaiterRow } from '../wire.js';
import { make, stored, write } from './elements.js';
import { span } from './times.js';
import type { Now } from './times.js';

/** Elements whose text follows the time. */
export class Ticking {
  readonly #texts: { readonly element: Element; readonly textAt: (now: Now) => string }[] = [];

  /** Makes an element whose text `textAt` gives for each time. */
  add(textAt: (now: Now) => string): HTMLElement {
    const element = make('span', { class: 'number' });
    this.#texts.push({ element, textAt });
    return element;
  }

  tick(now: Now): void {
    for (const { element, textAt } of this.#texts) write(element, textAt(now));
  }
}

/** A cell of the table. Where there is no room for columns, `label` stands before a cell of the kind `number`. */
export const cell = (label: string, kind = ''): HTMLTableCellElement =>
  make('td', { role: 'cell', 'data-label': label, class: kind });

/** Shows a figure. `null` is shown as a dash, and as nothing where there is no room for columns. */
export function showFigure(shown: HTMLElement, text: string | null): void {
  write(shown, text ?? '–');
  shown.classList.toggle('none', text === null);
}

/** Makes the button that shows and hides the details of a row. `showName` writes the name of the row on it. */
export function nameButton(onOpen: () => void): HTMLButtonElement {
  const button = make('button', { type: 'button', class: 'name', 'aria-expanded': 'false' });
  button.addEventListener('click', onOpen);
  return button;
}

/** What a row says that the server no longer lists. */
export const UNLISTED = 'not listed any more';

let made = 0;

/** Tells screen readers that the button opens these details. */
export function controls(button: HTMLButtonElement, details: HTMLTableRowElement): void {
  made += 1;
  details.id = `details-${String(made)}`;
  button.setAttribute('aria-controls', details.id);
}

export function showName(button: HTMLButtonElement, name: string): void {
  button.replaceChildren(stored(name));
  button.title = plain(name);
}

/** The holder or waiter and its reason, in one line. */
export function party({ who, why }: HolderRow | WaiterRow): HTMLElement {
  const words = [stored(who, { class: 'who' })];
  if (why !== undefined && why !== '') words.push(stored(why, { class: 'why' }));
  return make('span', { class: 'party', title: plain(why === undefined ? who : `${who}: ${why}`) }, ...words);
}

const term = (name: string, ...value: (Node | string)[]): Node =>
  make('div', {}, make('dt', {}, name), make('dd', {}, ...value));

/**
 * Shows everything that is known of one holder.
 *
 * @param timeLeft - Returns the text for the time left of its lease.
 */
export function holderDetails(
  { who, process, why, mode, value, token, since, id }: HolderRow,
  timeLeft: (now: Now) => string,
  ticking: Ticking,
): HTMLDListElement {
  const parts = [term('Holder', stored(who)), term('Process', stored(process))];
  if (why !== undefined) parts.push(term('Why', stored(why)));
  if (value !== undefined && value !== '') parts.push(term('Value', stored(value)));
  if (mode !== undefined) parts.push(term('Mode', stored(mode)));
  parts.push(
    term(
      'Held for',
      ticking.add(({ ms }) => span(ms - since)),
    ),
    term('Time left', ticking.add(timeLeft)),
    term('Token', make('span', { class: 'number' }, String(token))),
    term('Id', stored(id)),
  );
  return make('dl', { class: 'terms' }, ...parts);
}

/** One place of the queue. */
export function waiterDetails(waiter: WaiterRow, ticking: Ticking): HTMLElement {
  const { who, process, why, mode, since } = waiter;
  const line = make('li', {}, stored(who, { class: 'who' }));
  if (mode !== undefined) line.append(' ', stored(mode, { class: 'mode' }));
  line.append(
    ' waits ',
    ticking.add(({ ms }) => span(ms - since)),
  );
  if (why !== undefined && why !== '') line.append(' ', stored(why, { class: 'why' }));
  if (process !== who) line.append(' ', stored(process, { class: 'process' }));
  return line;
}
