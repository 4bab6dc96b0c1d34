import { expect, it } from 'vitest';

import { eventually } from '../../../lab/patience.js';
import { Child } from '../../../lab/processes/child.js';
import { useProgram } from '../../support/built-program.js';
import { ownDatabase } from '../../support/test-provider.js';
import type { TraceLine, TraceOrder, TraceSpan, TraceTask } from './trace-lines.js';

type Worker = Child<TraceOrder, TraceLine>;

const program = useProgram(new URL('trace-worker.ts', import.meta.url));

const has = (worker: Worker, says: TraceLine['says']): boolean =>
  worker.lines.some((line) => line.says === says);

/** The only span of the hold of this process, after its release. */
function holdOf({ lines }: Worker): TraceSpan {
  const released = lines.find((line) => line.says === 'released');
  const holds = released?.spans.filter(({ name }) => name === 'leasehold.hold') ?? [];
  const [hold] = holds;
  if (hold === undefined || holds.length > 1) throw new Error(`${String(holds.length)} spans of holds`);
  return hold;
}

it('the hold of one process links to the span of the hold of another process that handed over', async () => {
  const own = ownDatabase();
  const observer = own.client();
  const task: TraceTask = { uri: own.uri, database: own.name };
  await using first = new Child<TraceOrder, TraceLine>([program.path, JSON.stringify(task)]);
  await using second = new Child<TraceOrder, TraceLine>([program.path, JSON.stringify(task)]);
  for (const worker of [first, second]) await eventually('it is ready', () => has(worker, 'ready'));

  await first.tell({ does: 'acquire' }, 'holds');
  const document = await observer.document('linked');
  const { traceparent } = (document?.['holder'] ?? {}) as { readonly traceparent?: string };
  await second.tell({ does: 'acquire' }, 'waits');
  await first.tell({ does: 'release' }, 'released');
  await eventually('the second process holds', () => has(second, 'holds'));
  await second.tell({ does: 'release' }, 'released');

  const [from, to] = [holdOf(first), holdOf(second)];
  expect(traceparent).toBe(`00-${from.traceId}-${from.spanId}-01`);
  expect(Buffer.byteLength(traceparent ?? '')).toBe(55);
  expect(from.links).toEqual([]);
  expect(to.links).toEqual([{ traceId: from.traceId, spanId: from.spanId }]);
  expect(to.traceId).not.toBe(from.traceId);
  expect(second.lines.at(-1)).toMatchObject({
    heardBy: [{ 'leasehold.heard_by': expect.any(String) as unknown }],
  });
});
