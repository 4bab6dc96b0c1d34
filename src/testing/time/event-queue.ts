/** An event of a simulation. */
export interface Happening {
  readonly atMs: number;
  /** The order among events of the same instant. */
  readonly order: number;
  /**
   * Whether virtual time goes on by itself until this event has happened. True for the arrival of a message without an
   * added delay, and for everything that a process catches up on after a `freeze`. False for timers and for messages
   * with an added delay.
   */
  readonly isMessage: boolean;
  readonly happen: () => void;
  /** Whether the event has happened or was cancelled. */
  isOver: boolean;
}

const isBefore = (a: Happening, b: Happening): boolean =>
  a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

/** A priority queue: a binary heap with the earliest event at its root. */
export class EventQueue {
  readonly #heap: Happening[] = [];

  add(happening: Happening): void {
    const heap = this.#heap;
    let index = heap.push(happening) - 1;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex];
      if (parent === undefined || !isBefore(happening, parent)) break;
      heap[index] = parent;
      index = parentIndex;
    }
    heap[index] = happening;
  }

  get first(): Happening | undefined {
    while (this.#heap[0]?.isOver === true) this.removeFirst();
    return this.#heap[0];
  }

  removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      const child = this.#earlierChild(index);
      const earlier = heap[child];
      if (earlier === undefined || !isBefore(earlier, last)) break;
      heap[index] = earlier;
      index = child;
    }
    heap[index] = last;
  }

  #earlierChild(index: number): number {
    const left = 2 * index + 1;
    const [a, b] = [this.#heap[left], this.#heap[left + 1]];
    return a !== undefined && b !== undefined && isBefore(b, a) ? left + 1 : left;
  }
}
