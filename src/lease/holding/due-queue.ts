/** An element of a {@link DueQueue}. */
export interface Due {
  /** Changed by the queue alone while the element is in it. */
  dueMs: number;
  /** Where the queue has it; -1: it is in no queue. */
  place: number;
}

/** A binary heap: the element that is due first is at hand, and each change costs the logarithm of the length. */
export class DueQueue<D extends Due> {
  readonly #heap: D[] = [];

  /** The element that is due first. */
  get first(): D | undefined {
    return this.#heap[0];
  }

  /** Puts the element in, or moves it if it is in already. */
  set(element: D, dueMs: number): void {
    element.dueMs = dueMs;
    if (element.place < 0) {
      this.#put(element, this.#heap.length);
    }
    this.#rise(element);
    this.#sink(element);
  }

  /** Takes the element out; without effect if it is not in. */
  delete(element: D): void {
    const { place } = element;
    if (place < 0) return;
    element.place = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === element) return;
    this.#put(last, place);
    this.#rise(last);
    this.#sink(last);
  }

  clear(): void {
    for (const element of this.#heap) element.place = -1;
    this.#heap.length = 0;
  }

  #put(element: D, place: number): void {
    this.#heap[place] = element;
    element.place = place;
  }

  #rise(element: D): void {
    for (;;) {
      const { place } = element;
      const parent = this.#heap[(place - 1) >> 1];
      if (place === 0 || parent === undefined || parent.dueMs <= element.dueMs) return;
      this.#put(element, parent.place);
      this.#put(parent, place);
    }
  }

  #sink(element: D): void {
    for (;;) {
      const { place } = element;
      const left = this.#heap[2 * place + 1];
      const right = this.#heap[2 * place + 2];
      const child = right !== undefined && left !== undefined && right.dueMs < left.dueMs ? right : left;
      if (child === undefined || element.dueMs <= child.dueMs) return;
      this.#put(element, child.place);
      this.#put(child, place);
    }
  }
}
