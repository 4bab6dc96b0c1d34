// Folder `opentelemetry`: metrics and spans of a provider, made of what the core tells observers.

import { metrics, trace } from '@opentelemetry/api';
import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { observableOf } from '../observation.js';
import { knownOptions, wrongType } from '../options/checks.js';
import type { KeysOf } from '../options/unknown-keys.js';
import type { LockProvider } from '../provider.js';
import type { QuorumLockProvider } from '../quorum/quorum-lock-provider.js';
import { LockMetrics } from './lock-metrics.js';
import { LockSpans } from './lock-spans.js';
import { VERSION } from './version.js';

/** A provider that {@link instrument} accepts. */
export type Instrumentable = LockProvider | QuorumLockProvider;

/** Options of {@link instrument}. */
export interface InstrumentOptions {
  /**
   * Makes the tracer of the spans. Default: the global provider of the API. If none is registered at the call, spans
   * are recorded once one is registered.
   */
  tracerProvider?: TracerProvider | undefined;
  /**
   * Makes the meter of the metrics. Default: the global provider of the API. If none is registered at the call, no
   * metric is ever recorded.
   */
  meterProvider?: MeterProvider | undefined;
  /**
   * Maps the name of a lock to a group, which becomes the attribute `leasehold.lock.group` of all metrics that concern
   * one lock. Return few different values: each of them is a series of its own in the store of the metrics. Default: no
   * such attribute.
   */
  groupOf?: ((lockName: string) => string) | undefined;
}

const KEYS: KeysOf<InstrumentOptions> = { tracerProvider: true, meterProvider: true, groupOf: true };

/** The instrumentation scope of all metrics and spans. */
const SCOPE = 'leasehold';

/**
 * Records metrics and spans of one provider by OpenTelemetry, from now on: of its requests, holds, extensions, change
 * streams, terms and runs. Requests, holds, terms and runs that began before the call are not recorded, but the losses
 * of such holds are counted. The call sends no command to the server.
 *
 * While a `LockProvider` is instrumented, each request whose span is recorded carries the trace context of its hold.
 * The lease stores the trace context in the field `traceparent` (55 bytes), unless the update of a process that is not
 * instrumented grants the seat. The span of the next hold links to this trace context if its process is instrumented,
 * too, and has learned of it: from the event of the grant, or from an answer that showed its request at the head of the
 * queue.
 *
 * An error that a tracer, a meter or `groupOf` throws later changes nothing for the lock. The error causes a process
 * warning, at most one a minute.
 *
 * If the same provider is instrumented twice, each instrumentation records everything.
 *
 * @returns A function that ends the instrumentation. Open spans then end without their result, and the open requests
 *   and holds are taken out of the up-down counters. Afterwards the gauge of the change streams does not count the
 *   provider any more, and nothing else is recorded. May be called again.
 * @throws `TypeError` for a wrong provider or a wrong option.
 */
export function instrument(locks: Instrumentable, options?: InstrumentOptions): () => void {
  const given = knownOptions(options, 'instrument', KEYS);
  const observable = observableOf(locks);
  const tracerProvider = withMethod('tracerProvider', given.tracerProvider, 'getTracer') ?? trace;
  const meterProvider = withMethod('meterProvider', given.meterProvider, 'getMeter') ?? metrics;
  const { groupOf } = given;
  if (groupOf !== undefined && typeof groupOf !== 'function')
    throw wrongType('groupOf', 'a function', groupOf);
  const lockMetrics = new LockMetrics(meterProvider.getMeter(SCOPE, VERSION), groupOf, () =>
    observable.streams(),
  );
  const lockSpans = new LockSpans(tracerProvider.getTracer(SCOPE, VERSION), observable.clock);
  const ends = [lockSpans, lockMetrics].map((observer) => observable.observe(observer));
  return () => {
    for (const end of ends.splice(0)) end();
    lockMetrics.end();
    lockSpans.end();
  };
}

function withMethod<K extends string, T extends Readonly<Record<K, unknown>>>(
  option: string,
  value: T | undefined,
  method: K,
): T | undefined {
  if (value === undefined) return undefined;
  const found = (value as Partial<Record<K, unknown>> | null)?.[method];
  if (typeof found !== 'function') throw wrongType(option, `an object with the method ${method}`, value);
  return value;
}
