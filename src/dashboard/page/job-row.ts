import { plain } from '../hostile-characters.js';
import type { JobRow } from '../wire.js';
import { make, stored, write } from './elements.js';
import type { RowView } from './list.js';
import { UNLISTED, cell, controls, nameButton, showFigure, showName } from './row-parts.js';
import { clockTime, isOld, span } from './times.js';
import type { Now } from './times.js';

/** How long after an instant its run is shown as late, in ms. A leader needs some time to claim an instant. */
const LATE_MS = 5_000;

const OUTCOMES = {
  running: 'running',
  completed: 'completed',
  failed: 'failed',
  missed: 'missed',
  unknown: 'end unknown',
} as const;

/** The row of a scheduled job. */
export class JobRowView implements RowView<JobRow> {
  readonly element: HTMLTableRowElement;
  readonly details: HTMLTableRowElement;
  readonly button: HTMLButtonElement;
  readonly #last = cell('Last', 'number');
  readonly #outcome = cell('Outcome', 'number outcome');
  readonly #next = cell('Next', 'number');
  readonly #missed = cell('Missed', 'number');
  readonly #content = make('td', { role: 'cell', class: 'content', colspan: '5' });
  #row: JobRow | undefined;

  constructor(onOpen: (view: JobRowView) => void) {
    this.button = nameButton(() => {
      onOpen(this);
    });
    const name = cell('Job', 'name');
    name.append(this.button);
    const cells = [name, this.#last, this.#outcome, this.#next, this.#missed];
    this.element = make('tr', { role: 'row', class: 'row' }, ...cells);
    this.details = make('tr', { role: 'row', class: 'details' }, this.#content);
    controls(this.button, this.details);
  }

  update(row: JobRow): void {
    if (this.#row === undefined) showName(this.button, row.name);
    this.#row = row;
    const { last } = row;
    const took = typeof last?.durationMs === 'number' ? ` in ${span(last.durationMs)}` : '';
    write(this.#outcome, last === null ? '–' : `${OUTCOMES[last.outcome]}${took}`);
    this.#outcome.classList.toggle('bad', last?.outcome === 'failed' || last?.outcome === 'missed');
    this.#outcome.classList.toggle('warn', last?.outcome === 'unknown');
    this.#missed.classList.toggle('bad', row.missed !== null);
    const parts: Node[] = [make('p', { class: 'whole' }, plain(row.name))];
    parts.push(make('p', {}, 'Election ', stored(row.election)));
    if (last !== null) parts.push(make('p', {}, 'Last run by ', stored(last.by)));
    this.#content.replaceChildren(...parts);
  }

  unlist(): void {
    write(this.#outcome, UNLISTED);
    this.#outcome.classList.remove('bad', 'warn');
  }

  tick(now: Now): void {
    if (this.#row === undefined) return;
    const { ms: nowMs } = now;
    const { last, next, missed } = this.#row;
    write(
      this.#last,
      last === null ? 'never' : `${clockTime(last.firedAt, nowMs)}, ${span(nowMs - last.firedAt)} ago`,
    );
    // An old row does not show that the run is late: the run may have begun since.
    const isLate = next !== null && nowMs - next > LATE_MS && !isOld(now);
    this.#next.classList.toggle('bad', isLate);
    if (next === null) showFigure(this.#next, null);
    else if (isLate) showFigure(this.#next, `${clockTime(next, nowMs)}, ${span(nowMs - next)} late`);
    else if (nowMs > next && isOld(now)) showFigure(this.#next, clockTime(next, nowMs));
    else showFigure(this.#next, `${clockTime(next, nowMs)}, in ${span(next - nowMs)}`);
    showFigure(this.#missed, missed === null ? null : clockTime(missed, nowMs));
  }
}
