export interface Due {
  /** Only the queue changes `dueMs` while the element is in the queue. */
  dueMs: number;
  /** The index in the heap; -1 if the element is in no queue. */
  index: number;
}

/** A binary heap ordered by `dueMs`: `first` is O(1), `set` and `delete` are O(log n). */
export class DueQueue<D extends Due> {
  readonly #heap: D[] = [];

  get first(): D | undefined {
    return this.#heap[0];
  }

  set(element: D, dueMs: number): void {
    element.dueMs = dueMs;
    if (element.index < 0) {
      this.#put(element, this.#heap.length);
    }
    this.#rise(element);
    this.#sink(element);
  }

  delete(element: D): void {
    const { index } = element;
    if (index < 0) return;
    element.index = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === element) return;
    this.#put(last, index);
    this.#rise(last);
    this.#sink(last);
  }

  clear(): void {
    for (const element of this.#heap) element.index = -1;
    this.#heap.length = 0;
  }

  #put(element: D, index: number): void {
    this.#heap[index] = element;
    element.index = index;
  }

  #rise(element: D): void {
    for (;;) {
      const { index } = element;
      const parent = this.#heap[(index - 1) >> 1];
      if (index === 0 || parent === undefined || parent.dueMs <= element.dueMs) return;
      this.#put(element, parent.index);
      this.#put(parent, index);
    }
  }

  #sink(element: D): void {
    for (;;) {
      const { index } = element;
      const left = this.#heap[2 * index + 1];
      const right = this.#heap[2 * index + 2];
      const child = right !== undefined && left !== undefined && right.dueMs < left.dueMs ? right : left;
      if (child === undefined || element.dueMs <= child.dueMs) return;
      this.#put(element, child.index);
      this.#put(child, index);
    }
  }
}
