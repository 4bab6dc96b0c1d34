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
import type { Mutex } from '../../src/index.js';
import { instrument } from '../../src/opentelemetry/index.js';
import { Observation } from '../../src/observation.js';
import { median, percentile } from '../../lab/statistics.js';
import { inTurn, timeOf } from '../measure.js';
import type { Blocks } from '../measure.js';
import { defineScenario } from '../scenario.js';
import type { Setup } from '../scenario.js';

const WARM_UP_ROUNDS = 300;

/** One call of a kept mutex takes microseconds, less than the clock tells apart well. So many are timed together. */
const KEPT_CALLS = 100;

const STORED_BOUND = 1.2;
const AGAIN_BOUND = 1.1;
/** Nothing is sent for a kept mutex, so this is the telemetry beside the library's own work in memory. */
const KEPT_BOUND = 6;
/** Which share of a kept acquire and release the work for observers may take while nobody observes. */
const IDLE_BOUND = 0.01;
/** At most so often does one acquire and release ask whether anybody observes. */
const CHECKS_OF_A_CALL = 10;
const IDLE_CALLS = 100_000;

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

/** The SDK as an application has it: spans in batches, metrics every second; what is exported is discarded. */
interface Sdk extends AsyncDisposable {
  readonly tracerProvider: BasicTracerProvider;
  readonly meterProvider: MeterProvider;
}

function startSdk(): Sdk {
  const tracerProvider = new BasicTracerProvider({
    spanProcessors: [new BatchSpanProcessor(DISCARDED_SPANS)],
  });
  const reader = new PeriodicExportingMetricReader({
    exporter: DISCARDED_METRICS,
    exportIntervalMillis: 1_000,
    exportTimeoutMillis: 1_000,
  });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const end = async (): Promise<void> => {
    await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()]);
  };
  return { tracerProvider, meterProvider, [Symbol.asyncDispose]: end };
}

export const telemetry = defineScenario({
  name: 'telemetry',
  about: 'an acquire and a release with telemetry, against the same without it',
  parts: ['stored', 'kept'],
  sizes: [1],
  settings: {
    blocks: { meaning: 'blocks, which should agree', usual: 6, thorough: 9 },
    rounds: { meaning: 'rounds of a block; each round makes every call once', usual: 200, thorough: 300 },
  },
  async run(setup) {
    if (setup.wants('stored')) await compare(setup, 'stored', 0, 1);
    if (setup.wants('kept')) await compare(setup, 'kept', 60_000, KEPT_CALLS);
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
  await using sdk = startSdk();
  const stop = instrument(observed, sdk);
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
    const pairs = (measured: Blocks) =>
      measured.map((lockMs, block) => ({ lockMs, floorMs: off[block] ?? [] }));
    if (part === 'stored') {
      report.ratio('instrumented p50 / not observed p50', pairs(on), STORED_BOUND);
      report.ratio('not observed p50 / the same, again', pairs(offAgain), AGAIN_BOUND);
    } else {
      const [offMs, onMs] = [undisturbed(off), undisturbed(on)];
      report.gate('kept, instrumented p10 / not observed p10', onMs / offMs, '≤', KEPT_BOUND);
      const idleMs = (calls * idleNs()) / 1e6;
      const idle = 'the work for observers while nobody observes / a kept acquire + release';
      report.gate(idle, idleMs / offMs, '≤', IDLE_BOUND);
    }
  } finally {
    stop();
  }
}

/** The collector interrupts calls of all sorts, so the undisturbed ones are compared. */
const undisturbed = (blocks: Blocks): number => percentile(blocks.flat(), 0.1);

/** The work of one acquire and release for observers while nobody observes: it asks, and tells that the hold ends. */
function idleNs(): number {
  const observation = new Observation();
  const blocks = Array.from({ length: 9 }, () => {
    const holds = Array.from({ length: IDLE_CALLS }, () => ({
      event: { lockName: 'x', kind: 'mutex', fencingToken: 1 } as const,
      heldMs: 1,
    }));
    let on = 0;
    const startedMs = performance.now();
    for (const hold of holds) {
      for (let check = 0; check < CHECKS_OF_A_CALL; check += 1) if (observation.isOn) on += 1;
      observation.holdReleasing(hold);
      observation.holdEnded(hold, 'released');
    }
    if (on > 0) throw new Error('somebody observes');
    return ((performance.now() - startedMs) * 1e6) / IDLE_CALLS;
  });
  return median(blocks);
}

async function use(mutex: Mutex | undefined, calls: number): Promise<void> {
  for (let call = 0; call < calls; call += 1) await (await mutex?.acquire())?.release();
}
