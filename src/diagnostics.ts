import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { ObservedAcquire, ObservedHold, Observer } from './observer.js';

const acquire = tracingChannel<ObservedAcquire, ObservedAcquire>('leasehold:acquire');
const hold = tracingChannel<ObservedHold, ObservedHold>('leasehold:hold');
const lost = channel('leasehold:lost');
const wakeups = channel('leasehold:wakeups');

/** Whether any code of this process subscribes to a diagnostics channel of the library. */
export const hasSubscribers = (): boolean =>
  acquire.hasSubscribers || hold.hasSubscribers || lost.hasSubscribers || wakeups.hasSubscribers;

/**
 * The messages about acquires or about holds. Each of them is a shallow copy of what the library itself uses, so a
 * subscriber that sets a field of a message changes nothing else.
 */
class Messages<T extends object> {
  readonly #messages = new WeakMap<T, T>();

  /**
   * Returns the message about `observed`: the same object each time, with the present fields. Throws if a subscriber
   * has frozen the message.
   */
  of(observed: T, further: Partial<T> = {}): T {
    const message = this.#messages.get(observed) ?? ({} as T);
    this.#messages.set(observed, message);
    return Object.assign(message, observed, further);
  }
}

const acquires = new Messages<ObservedAcquire>();
const holds = new Messages<ObservedHold>();

const ofHold = (observed: ObservedHold): ObservedHold =>
  holds.of(observed, { acquire: acquires.of(observed.acquire) });

/** Publishes on the diagnostics channels of Node.js. A channel without subscribers publishes nothing. */
export const diagnostics: Observer = {
  acquireStarted(observed) {
    if (!acquire.hasSubscribers) return;
    const message = acquires.of(observed);
    acquire.start.publish(message);
    acquire.end.publish(message);
  },
  acquireEnded(observed) {
    const { lockName, kind, mode, fencingToken, heardBy, handoverMs, result } = observed;
    if (acquire.hasSubscribers) {
      const message = acquires.of(observed);
      if (result !== 'granted') acquire.error.publish(message);
      else {
        acquire.asyncStart.publish(message);
        acquire.asyncEnd.publish(message);
      }
    }
    if (result === 'granted' && heardBy !== undefined)
      wakeups.publish({ lockName, kind, mode, fencingToken, heardBy, handoverMs });
  },
  holdStarted(observed) {
    if (!hold.hasSubscribers) return;
    const message = ofHold(observed);
    hold.start.publish(message);
    hold.end.publish(message);
  },
  holdEnded(observed) {
    if (!hold.hasSubscribers) return;
    const message = ofHold(observed);
    hold.asyncStart.publish(message);
    hold.asyncEnd.publish(message);
  },
  lost(message) {
    lost.publish(message);
  },
};
