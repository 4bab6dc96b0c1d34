// What telemetry adds to an acquire and a release: an instrumented provider beside a provider that nobody observes,
// measured in turn. A kept mutex sends nothing, so it shows the cost of the telemetry alone.
import { BatchSpanProcessor, BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import type { SpanExporter } from '@opentelemetry/sdk-trace-base';
import {
  AggregationTemporality,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { LockProvider, Mutex } from '../../src/index.js';
import { instrument } from '../../src/opentelemetry/index.js';
import { Observation } from '../../src/observation.js';
import { median, percentile } from '../../lab/statistics.js';
import { inTurn, timeOf } from '../measure.js';
import { defineScenario } from '../scenario.js';
import type { Setup } from '../scenario.js';

const WARM_UP_ROUNDS = 300;

/** One call of a kept mutex takes microseconds, less than the clock tells apart well. So many are timed together. */
const KEPT_CALLS = 100;

const STORED_BOUND = 1.2;
const AGAIN_BOUND = 1.1;
const ADDED_BOUND_US = 60;
const CHECK_BOUND_NS = 250;
const CHECKS = 1_000_000;

/** With the result code of a success. */
const exported = (done: (result: { code: 0 }) => void): void => {
  done({ code: 0 });
};

const DISCARDED_SPANS: SpanExporter = {
  export: (_, done) => {
    exported(done);
  },
  shutdown: () => Promise.resolve(),
};

const DISCARDED_METRICS: PushMetricExporter = {
  export: (_, done) => {
    exported(done);
  },
  selectAggregationTemporality: () => AggregationTemporality.CUMULATIVE,
  forceFlush: () => Promise.resolve(),
  shutdown: () => Promise.resolve(),
};

/** Instruments as an application does: spans in batches, metrics every second; what is exported is discarded. */
function instrumented(locks: LockProvider): () => Promise<void> {
  const tracerProvider = new BasicTracerProvider({
    spanProcessors: [new BatchSpanProcessor(DISCARDED_SPANS)],
  });
  const reader = new PeriodicExportingMetricReader({
    exporter: DISCARDED_METRICS,
    exportIntervalMillis: 1_000,
    exportTimeoutMillis: 1_000,
  });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const stop = instrument(locks, { tracerProvider, meterProvider });
  return async () => {
    stop();
    await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()]);
  };
}

export const telemetry = defineScenario({
  name: 'telemetry',
  about: 'an acquire and a release with telemetry, against the same without it',
  parts: ['stored', 'kept', 'check'],
  sizes: [1],
  settings: {
    blocks: { meaning: 'blocks, which should agree', usual: 6, thorough: 9 },
    rounds: { meaning: 'rounds of a block; each round makes every call once', usual: 200, thorough: 300 },
  },
  async run(setup) {
    if (setup.wants('stored')) await compare(setup, 'stored', 0, 1);
    if (setup.wants('kept')) await compare(setup, 'kept', 60_000, KEPT_CALLS);
    if (setup.wants('check')) measureCheck(setup);
  },
});

async function compare(
  { settings: { blocks, rounds }, report, bench }: Setup<'blocks' | 'rounds'>,
  part: string,
  keepMs: number,
  calls: number,
): Promise<void> {
  await using plain = bench.provider();
  // A provider of its own, because the providers have connections of their own, and two connections differ a little.
  await using plainAgain = bench.provider();
  await using observed = bench.provider();
  const stop = instrumented(observed);
  try {
    const [without, beside] = [plain, plainAgain].map((locks, index) =>
      locks.createMutex(`${part}-${index}`, { keepMs }),
    );
    const withIt = observed.createMutex(`${part}-observed`, { keepMs });
    const times = [without, beside, withIt].map((mutex) => () => timeOf(() => use(mutex, calls)));
    await inTurn(1, WARM_UP_ROUNDS, times);
    const [off = [], offAgain = [], on = []] = await inTurn(blocks, rounds, times);
    const of = calls === 1 ? 'acquire + release' : `${calls} × acquire + release`;
    report.timing(`${part}: ${of}, not observed`, off.flat());
    report.timing(`${part}: ${of}, instrumented`, on.flat());
    const pairs = (measured: readonly (readonly number[])[]) =>
      measured.map((lockMs, block) => ({ lockMs, floorMs: off[block] ?? [] }));
    if (part === 'stored') {
      report.ratio('instrumented p50 / not observed p50', pairs(on), STORED_BOUND);
      report.ratio('not observed p50 / the same, again', pairs(offAgain), AGAIN_BOUND);
    }
    // The collector interrupts the calls of all three, so the undisturbed calls are compared.
    const addedMs = percentile(on.flat(), 0.1) - percentile(off.flat(), 0.1);
    const microseconds = `µs that telemetry adds to an acquire + release, p10, ${part}`;
    if (part === 'kept') report.gate(microseconds, (addedMs * 1_000) / calls, '≤', ADDED_BOUND_US);
    else report.note(microseconds, Math.round(addedMs * 1_000));
  } finally {
    await stop();
  }
}

/** The only work of a provider that nobody observes: to ask whether anybody does, a few times for each acquire. */
function measureCheck({ report }: Setup): void {
  const observation = new Observation();
  const blocks = Array.from({ length: 9 }, () => {
    let on = 0;
    const startedMs = performance.now();
    for (let check = 0; check < CHECKS; check += 1) if (observation.isOn) on += 1;
    if (on > 0) throw new Error('somebody observes');
    return ((performance.now() - startedMs) * 1e6) / CHECKS;
  });
  report.gate('ns to find out that nobody observes', median(blocks), '≤', CHECK_BOUND_NS);
}

async function use(mutex: Mutex | undefined, calls: number): Promise<void> {
  for (let call = 0; call < calls; call += 1) await (await mutex?.acquire())?.release();
}
