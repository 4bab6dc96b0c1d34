import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { DataPointType, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import type { MetricData } from '@opentelemetry/sdk-metrics';

class Reader extends MetricReader {
  override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }

  override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

/** One data point: the attributes, and the value; of a histogram, the sum and the number of its values. */
export interface Point {
  readonly attributes: object;
  readonly value: number;
  readonly count?: number;
}

/** A tracer provider and a meter provider of the SDK that keep what they get in memory. */
export class Recorder {
  readonly #exporter = new InMemorySpanExporter();
  readonly #reader = new Reader();
  /** Options of `instrument`. */
  readonly providers: {
    readonly tracerProvider: BasicTracerProvider;
    readonly meterProvider: MeterProvider;
  } = {
    tracerProvider: new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.#exporter)] }),
    meterProvider: new MeterProvider({ readers: [this.#reader] }),
  };

  /** The ended spans of this name, in the order of their ends. */
  spans(name?: string): readonly ReadableSpan[] {
    return this.#exporter.getFinishedSpans().filter((span) => name === undefined || span.name === name);
  }

  async metrics(): Promise<readonly MetricData[]> {
    const { resourceMetrics, errors } = await this.#reader.collect();
    if (errors.length > 0) throw new AggregateError(errors);
    return resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
  }

  /** The points of one metric; empty if nothing was recorded. */
  async points(name: string): Promise<readonly Point[]> {
    const metric = (await this.metrics()).find(({ descriptor }) => descriptor.name === name);
    if (metric === undefined) return [];
    if (metric.dataPointType === DataPointType.HISTOGRAM) {
      return metric.dataPoints.map(({ attributes, value }) => ({
        attributes,
        value: value.sum ?? 0,
        count: value.count,
      }));
    }
    if (metric.dataPointType === DataPointType.EXPONENTIAL_HISTOGRAM)
      throw new Error(`${name} is exponential`);
    return metric.dataPoints.map(({ attributes, value }) => ({ attributes, value }));
  }

  /** The values of an up-down counter, by kind. */
  async counts(name: string): Promise<Readonly<Record<string, number>>> {
    const points = await this.points(name);
    return Object.fromEntries(
      points.map(({ attributes, value }) => [
        String((attributes as Record<string, unknown>)['leasehold.kind']),
        value,
      ]),
    );
  }
}

export const toSeconds = ([seconds, ns]: readonly [number, number]): number => seconds + ns / 1e9;
