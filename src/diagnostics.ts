import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { ObservedAcquire, ObservedHold, Observer } from './observer.js';

const acquire = tracingChannel<ObservedAcquire, ObservedAcquire>('leasehold:acquire');
const hold = tracingChannel<ObservedHold, ObservedHold>('leasehold:hold');
const lost = channel('leasehold:lost');
const wakeups = channel('leasehold:wakeups');

/** Whether any code of this process subscribes to a diagnostics channel of the library. */
export const hasSubscribers = (): boolean =>
  acquire.hasSubscribers || hold.hasSubscribers || lost.hasSubscribers || wakeups.hasSubscribers;

/** Publishes on the channels of Node.js. A channel without subscribers publishes nothing. */
export const diagnostics: Observer = {
  acquireStarted(message) {
    acquire.start.publish(message);
    acquire.end.publish(message);
  },
  acquireEnded(message) {
    if (message.result !== 'granted') {
      acquire.error.publish(message);
      return;
    }
    acquire.asyncStart.publish(message);
    acquire.asyncEnd.publish(message);
    const { lockName, kind, mode, fencingToken, heardBy, handoverMs } = message;
    if (heardBy !== undefined) wakeups.publish({ lockName, kind, mode, fencingToken, heardBy, handoverMs });
  },
  holdStarted(message) {
    hold.start.publish(message);
    hold.end.publish(message);
  },
  holdEnded(message) {
    hold.asyncStart.publish(message);
    hold.asyncEnd.publish(message);
  },
  lost(message) {
    lost.publish(message);
  },
};
