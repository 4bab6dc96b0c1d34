import type { BoardState, Totals } from '../wire.js';
import { make, write } from './elements.js';
import { Sparkline } from './sparkline.js';
import { count } from './times.js';

/** How many seconds the rate of hand-overs is averaged over. */
const AVERAGED_S = 5;

/** Whether the totals follow the store in this state. */
export const isCurrent = (state: BoardState): boolean => state === 'live' || state === 'polling';

/** The totals at the top of the page. */
export class Figures {
  readonly #values = new Map<string, HTMLElement>();
  readonly #sparkline = new Sparkline();

  constructor(list: HTMLElement) {
    for (const name of ['Locks', 'Held', 'Waiting', 'Hand-overs a second', 'Leases lost']) {
      const value = make('dd', { class: 'number' });
      this.#values.set(name, value);
      const figure = make('div', {}, make('dt', {}, name), value);
      if (name.startsWith('Hand-overs')) figure.append(this.#sparkline.element);
      list.append(figure);
    }
  }

  /** Shows a dash for a figure that does not follow the store in this state. */
  show({ locks, held, waiting, losses }: Totals, handOvers: readonly number[], state: BoardState): void {
    const isCounting = state === 'live';
    const total = (value: number): string => (isCurrent(state) ? count(value) : '–');
    const last = handOvers.slice(-AVERAGED_S);
    const rate = last.reduce((sum, value) => sum + value, 0) / Math.max(1, last.length);
    this.#show('Locks', total(locks));
    this.#show('Held', total(held));
    this.#show('Waiting', total(waiting));
    this.#show('Hand-overs a second', isCounting ? rate.toFixed(1) : '–');
    this.#show('Leases lost', isCounting ? count(losses) : '–');
    this.#values.get('Leases lost')?.classList.toggle('bad', isCounting && losses > 0);
    this.#sparkline.show(isCounting ? handOvers : []);
  }

  #show(name: string, text: string): void {
    const value = this.#values.get(name);
    if (value !== undefined) write(value, text);
  }
}
