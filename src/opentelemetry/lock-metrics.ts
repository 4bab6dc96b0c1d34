import type { Attributes, Histogram, Meter, UpDownCounter } from '@opentelemetry/api';
import type {
  ObservedAcquire,
  ObservedExtension,
  ObservedHold,
  ObservedLock,
  ObservedLoss,
  Observer,
} from '../observer.js';
import { errorTypeOf } from './error-type.js';

/** The bucket boundaries of durations, in seconds: from the acquire of a kept seat, which takes µs, to one hour. */
const DURATIONS_S = [
  ...[0.000_1, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  ...[1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600],
];

/**
 * The bucket boundaries of the share of a lease that is left at its extension. By default, a third of a lease passes
 * between two extensions, so the normal share is about two thirds.
 */
const SHARES = [0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

type GroupOf = (lockName: string) => string;

/** The metrics of one provider. */
export class LockMetrics implements Observer {
  readonly #groupOf: GroupOf | undefined;
  readonly #acquires: Histogram;
  readonly #holdDurations: Histogram;
  readonly #holds: CountedNow<ObservedHold>;
  readonly #waits: CountedNow<ObservedAcquire>;
  readonly #losses: ReturnType<Meter['createCounter']>;
  readonly #extensions: Histogram;
  readonly #shares: Histogram;
  readonly #handovers: Histogram;
  readonly #endStreams: () => void;

  /** @param streams - Returns how many change streams of the provider are open. */
  constructor(meter: Meter, groupOf: GroupOf | undefined, streams: () => number) {
    this.#groupOf = groupOf;
    const durations = (name: string, description: string): Histogram =>
      meter.createHistogram(name, {
        description,
        unit: 's',
        advice: { explicitBucketBoundaries: DURATIONS_S },
      });
    this.#acquires = durations('leasehold.acquire.duration', 'From the call of an acquire to its end.');
    this.#holdDurations = durations('leasehold.hold.duration', 'From a grant to the end of the hold.');
    this.#extensions = durations(
      'leasehold.extension.duration',
      'From the sending of a batch of extensions to its answer.',
    );
    this.#handovers = durations(
      'leasehold.handover.duration',
      "From a grant to a waiter, by the server's clock, until the process of the waiter heard of it.",
    );
    this.#holds = new CountedNow(
      meter.createUpDownCounter('leasehold.holds', { description: 'Holds of the process.', unit: '{hold}' }),
    );
    this.#waits = new CountedNow(
      meter.createUpDownCounter('leasehold.waits', {
        description: 'Requests of the process that have not ended.',
        unit: '{request}',
      }),
    );
    this.#losses = meter.createCounter('leasehold.losses', { description: 'Lost holds.', unit: '{hold}' });
    this.#shares = meter.createHistogram('leasehold.lease.remaining_ratio', {
      description: 'The share of a lease that was left when its extension was answered.',
      unit: '1',
      advice: { explicitBucketBoundaries: SHARES },
    });
    this.#endStreams = observeStreams(meter, streams);
  }

  acquireStarted(acquire: ObservedAcquire): void {
    this.#waits.add(acquire, this.#of(acquire));
  }

  acquireEnded(acquire: ObservedAcquire): void {
    // A request that began before this instrumentation is not recorded.
    if (!this.#waits.remove(acquire)) return;
    const { result, durationMs = 0, heardBy, handoverMs } = acquire;
    this.#acquires.record(durationMs / 1_000, {
      ...this.#ofMode(acquire),
      'leasehold.result': result,
      ...(result === 'error' && { 'error.type': errorTypeOf(acquire.error) }),
    });
    if (heardBy === undefined || handoverMs === undefined) return;
    this.#handovers.record(handoverMs / 1_000, {
      ...this.#groupAttributes(acquire),
      'leasehold.heard_by': heardBy,
    });
  }

  holdStarted(hold: ObservedHold): void {
    this.#holds.add(hold, this.#of(hold));
  }

  holdEnded(hold: ObservedHold): void {
    // A hold that began before this instrumentation is not recorded.
    if (!this.#holds.remove(hold)) return;
    const attributes = { ...this.#ofMode(hold), 'leasehold.ended_by': hold.endedBy };
    this.#holdDurations.record((hold.durationMs ?? 0) / 1_000, attributes);
  }

  lost(loss: ObservedLoss): void {
    this.#losses.add(1, { ...this.#of(loss), 'leasehold.loss.why': loss.why });
  }

  extended({ durationMs, leases }: ObservedExtension): void {
    this.#extensions.record(durationMs / 1_000);
    for (const lease of leases) this.#shares.record(lease.leftShare, this.#groupAttributes(lease));
  }

  /**
   * Takes the open requests and holds out of the up-down counters, and the streams of this provider out of the gauge.
   */
  end(): void {
    this.#endStreams();
    this.#waits.clear();
    this.#holds.clear();
  }

  #groupAttributes({ lockName }: Pick<ObservedLock, 'lockName'>): Attributes {
    return this.#groupOf === undefined ? {} : { 'leasehold.lock.group': this.#groupOf(lockName) };
  }

  #of(lock: Pick<ObservedLock, 'lockName' | 'kind'>): Attributes {
    return { 'leasehold.kind': lock.kind, ...this.#groupAttributes(lock) };
  }

  #ofMode(lock: ObservedLock): Attributes {
    return { ...this.#of(lock), ...(lock.mode !== undefined && { 'leasehold.mode': lock.mode }) };
  }
}

/** For each meter, the functions that count the open streams of its instrumented providers. */
const streamsOf = new WeakMap<Meter, Set<() => number>>();

/**
 * Counts the open streams of a provider until the returned function is called. All providers of one meter have one
 * value, their sum, because the SDK keeps only the last value that is observed for the same attributes. If no provider
 * is left, the value is 0: the SDK would repeat the last value if none were observed.
 */
function observeStreams(meter: Meter, streams: () => number): () => void {
  const known = streamsOf.get(meter);
  const counts = known ?? new Set();
  counts.add(streams);
  if (known === undefined) {
    streamsOf.set(meter, counts);
    const gauge = meter.createObservableGauge('leasehold.streams', {
      description: 'Open change streams.',
      unit: '{stream}',
    });
    gauge.addCallback((result) => {
      result.observe([...counts].reduce((sum, count) => sum + count(), 0));
    });
  }
  return () => {
    counts.delete(streams);
  };
}

/**
 * Counts what exists now, by an up-down counter. The attributes of each thing are kept until its end, because the
 * counter returns to 0 only if the end is recorded with the attributes of the beginning.
 */
class CountedNow<T extends object> {
  readonly #counter: UpDownCounter;
  readonly #attributes = new Map<T, Attributes>();

  constructor(counter: UpDownCounter) {
    this.#counter = counter;
  }

  add(thing: T, attributes: Attributes): void {
    this.#attributes.set(thing, attributes);
    this.#counter.add(1, attributes);
  }

  /** Returns false if the thing was not counted. */
  remove(thing: T): boolean {
    const attributes = this.#attributes.get(thing);
    if (attributes === undefined) return false;
    this.#attributes.delete(thing);
    this.#counter.add(-1, attributes);
    return true;
  }

  clear(): void {
    for (const thing of [...this.#attributes.keys()]) this.remove(thing);
  }
}
