/**
 * A signal that aborts after a time, unless it is disposed of before. `AbortSignal.timeout` must not be a source of
 * `AbortSignal.any`: Node.js 20 collects it as garbage, and then the time has no end.
 */
export class TimeLimit implements Disposable {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;

  /** @param reason - The reason of the abort. */
  constructor(ms: number, reason?: Error) {
    this.#timer = setTimeout(() => {
      this.#controller.abort(reason);
    }, ms);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
