import type { KindRules } from '../../protocol/kind-rules.js';

/** The most attempts that are remembered; the oldest is forgotten first. */
const MAX_REMEMBERED = 4_096;

interface Ended {
  readonly rules: KindRules;
  readonly leaseMs: number;
}

/** The attempts that ended without a lock. If one of them is granted a seat later, the process gives that seat back. */
export class EndedAttempts {
  readonly #ended = new Map<string, Ended>();

  add(id: string, ended: Ended): void {
    this.#ended.set(id, ended);
    if (this.#ended.size <= MAX_REMEMBERED) return;
    const [oldest = id] = this.#ended.keys();
    this.#ended.delete(oldest);
  }

  /**
   * Forgets the attempt. Returns what is needed to give back its seat, or `undefined` if the attempt is not remembered.
   */
  take(id: string): Ended | undefined {
    const ended = this.#ended.get(id);
    this.#ended.delete(id);
    return ended;
  }

  clear(): void {
    this.#ended.clear();
  }
}
