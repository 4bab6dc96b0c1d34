// An instrumented process that acquires and releases one mutex when it is told to, and then tells its spans.
import { MongoClient } from 'mongodb';

import { LockProvider } from '../../../src/index.js';
import type { LockHandle } from '../../../src/index.js';
import { instrument } from '../../../src/opentelemetry/index.js';
import { onOrders, task, tell as tellParent } from '../../../lab/processes/parent.js';
import { Recorder } from './recorder.js';
import type { TraceLine, TraceOrder, TraceTask } from './trace-lines.js';

const { uri, database } = task() as TraceTask;
const locks = new LockProvider(new MongoClient(uri).db(database), { createIndexes: false });
const recorder = new Recorder();
const tell: (line: TraceLine) => void = tellParent;
let held: LockHandle | undefined;

instrument(locks, recorder.providers);
locks.on('waiting', () => {
  tell({ says: 'waits' });
});

async function release(): Promise<void> {
  await held?.release();
  const spans = recorder.spans().map((span) => ({
    name: span.name,
    traceId: span.spanContext().traceId,
    spanId: span.spanContext().spanId,
    links: span.links.map(({ context: { traceId, spanId } }) => ({ traceId, spanId })),
  }));
  const heardBy = (await recorder.points('leasehold.handover.duration')).map(({ attributes }) => attributes);
  tell({ says: 'released', spans, heardBy });
}

onOrders(({ does }: TraceOrder) => {
  if (does === 'release') void release();
  else {
    void locks.acquireMutex('linked').then((lock) => {
      held = lock;
      tell({ says: 'holds' });
    });
  }
});

tell({ says: 'ready' });
