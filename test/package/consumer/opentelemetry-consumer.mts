import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { LockProvider } from 'leasehold';
import { instrument } from 'leasehold/opentelemetry';
import type { Instrumentable, InstrumentOptions } from 'leasehold/opentelemetry';
import { QuorumLockProvider } from 'leasehold/quorum';
import { MongoClient } from 'mongodb';

declare const tracerProvider: TracerProvider;
declare const meterProvider: MeterProvider;

const options: InstrumentOptions = { tracerProvider, meterProvider, groupOf: (lockName) => lockName };
const client = new MongoClient('mongodb://localhost/');
const providers: readonly Instrumentable[] = [
  new LockProvider(client.db('app')),
  new QuorumLockProvider(['a', 'b', 'c'].map((name) => client.db(name))),
];
export const stops: readonly (() => void)[] = providers.map((provider) => instrument(provider, options));
