import { textOf } from '../error-text.js';
import { PROVIDER_WARNINGS } from '../events.js';
import type { LockProvider, StoreErrorEvent } from '../index.js';
import { isStreamRefused } from '../store/outcome.js';
import { oneLine } from '../warnings.js';
import { EXIT, exitCodeOf } from './exit-codes.js';
import type { Output } from './output.js';
import { shownDuration } from './values.js';

/**
 * How long to wait before a failure of the store is reported, in ms. If the failure ends the command, the error of the
 * command reports it, and it is not reported twice.
 */
const PATIENCE_MS = 1_000;

/** The least time between two messages about one outage, and between two messages with the same text, in ms. */
const REPEAT_MS = 60_000;

/**
 * An outage is over if the store has answered and nothing has failed for this time, in ms. It is longer than a call
 * without an answer and the pause before its repeat: a store that answers only some calls is still in its outage.
 */
const CALM_MS = 10_000;

/** How often to look whether a store that has been calm has also answered, in ms. */
const LOOK_MS = 1_000;

interface Outage {
  readonly sinceMs: number;
  lastMs: number;
  reason: string;
  /** When the outage was said last; `undefined`: not yet. */
  saidMs: number | undefined;
}

/**
 * Says failures in which the command goes on: an outage of the store when it begins, once a minute while it lasts, and
 * when it is over, whichever activities and locks it disturbs. What does not pass by itself, such as a missing privilege,
 * is said by its own text. Without a listener, the library would say failures and losses as process warnings, with
 * advice for programmers.
 */
export class StoreTrouble implements Disposable {
  readonly #locks: LockProvider;
  #output: Output | undefined;
  #outage: Outage | undefined;
  #patience: NodeJS.Timeout | undefined;
  #calm: NodeJS.Timeout | undefined;
  /** When each text was said. */
  readonly #saidMs = new Map<string, number>();
  readonly #saying = new Set<NodeJS.Timeout>();
  #isStreamRefused = false;

  /** @param output - Where to say them; `undefined` if the command says itself that the store is away. */
  constructor(locks: LockProvider, output: Output | undefined) {
    this.#locks = locks;
    this.#output = output;
    locks.on('storeError', this.#onStoreError).on('lost', this.#onLost);
  }

  /** Called for a failure of the work on top of the provider, such as an election. */
  failed(error: unknown): void {
    if (exitCodeOf(error) === EXIT.unavailable) this.#disturbed(error);
    else this.#sayRarely(textOf(error));
  }

  /** From now on, says nothing. The provider still has listeners while it closes. */
  hush(): void {
    this.#output = undefined;
    for (const timer of [this.#patience, this.#calm, ...this.#saying]) clearTimeout(timer);
  }

  [Symbol.dispose](): void {
    this.hush();
    this.#locks.off('storeError', this.#onStoreError).off('lost', this.#onLost);
  }

  // The command that holds the lock says why it was lost.
  readonly #onLost = (): void => undefined;

  readonly #onStoreError = (event: StoreErrorEvent): void => {
    // A command that lists locks says itself which documents are corrupt.
    if (event.during === 'list' || PROVIDER_WARNINGS.storeError.message(event) === null) return;
    if (event.during === 'stream' && isStreamRefused(event.error)) {
      // The refusal does not end, so it is said once.
      if (!this.#isStreamRefused) this.#sayRarely(`no change stream: waiters poll (${textOf(event.error)})`);
      this.#isStreamRefused = true;
      return;
    }
    const code = exitCodeOf(event.error);
    if (code === EXIT.notPermitted || code === EXIT.configuration) this.#sayRarely(textOf(event.error));
    else this.#disturbed(event.error);
  };

  #disturbed(error: unknown): void {
    if (this.#output === undefined) return;
    const nowMs = performance.now();
    const reason = oneLine(error).replace(/^Error: /, '');
    if (this.#outage === undefined) {
      this.#outage = { sinceMs: nowMs, lastMs: nowMs, reason, saidMs: undefined };
      this.#patience = setTimeout(() => {
        this.#sayOutage('The store failed or did not answer');
      }, PATIENCE_MS).unref();
    }
    const outage = this.#outage;
    Object.assign(outage, { lastMs: nowMs, reason });
    if (outage.saidMs !== undefined && nowMs - outage.saidMs >= REPEAT_MS)
      this.#sayOutage(`The store has failed or not answered for ${shownDuration(nowMs - outage.sinceMs)}`);
    this.#lookLater(CALM_MS);
  }

  #sayOutage(what: string): void {
    if (this.#outage === undefined) return;
    this.#outage.saidMs = performance.now();
    this.#output?.say(`${what}: ${this.#outage.reason}`);
  }

  #lookLater(ms: number): void {
    clearTimeout(this.#calm);
    this.#calm = setTimeout(this.#look, ms).unref();
  }

  readonly #look = (): void => {
    const { answeredMsAgo } = this.#locks.health();
    const calmMs = performance.now() - (this.#outage?.lastMs ?? 0);
    if (answeredMsAgo === null || answeredMsAgo >= calmMs) {
      this.#lookLater(LOOK_MS);
      return;
    }
    this.#outage = undefined;
    this.#output?.say('The store answers again');
  };

  /** Says a text after the patience, unless it was said within `REPEAT_MS`. */
  #sayRarely(text: string): void {
    const nowMs = performance.now();
    for (const [each, saidMs] of this.#saidMs) {
      if (nowMs - saidMs < REPEAT_MS) break;
      this.#saidMs.delete(each);
    }
    if (this.#output === undefined || this.#saidMs.has(text)) return;
    this.#saidMs.set(text, nowMs);
    const timer = setTimeout(() => {
      this.#saying.delete(timer);
      this.#output?.say(text);
    }, PATIENCE_MS).unref();
    this.#saying.add(timer);
  }
}
