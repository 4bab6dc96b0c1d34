import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/events.js';
import { parseProviderOptions } from '../../../src/options/provider-options.js';
import { DocumentWatch } from '../../../src/store/streams/document-watch.js';
import type { StreamContext } from '../../../src/store/streams/stream-cursor.js';
import { WakeStream } from '../../../src/store/streams/wake-stream.js';
import { ManualClock } from '../../support/manual-clock.js';
import { MockCollection } from './mock-streams.js';

const settings = parseProviderOptions();

const ignored = (): void => undefined;

/** Each begins to listen, and returns what ends that. */
const OWNERS: Readonly<Record<string, (context: StreamContext) => () => void>> = {
  'a wake stream': (context) => {
    const stream = new WakeStream(context, 'host:1:a', {
      onWoken: ignored,
      onGap: ignored,
      onNoStream: ignored,
      onCollectionGone: ignored,
      refusedByDriver: ignored,
      streamRequiredButRefused: ignored,
    });
    stream.listen(true);
    return () => {
      stream.listen(false, 1_000);
    };
  },
  'a stream over a few documents': (context) =>
    new DocumentWatch(context, 1_000).watch('a', { changed: ignored }),
};

describe.each(Object.entries(OWNERS))('%s', (...[, listen]) => {
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  async function listening() {
    const clock = new ManualClock();
    const collection = new MockCollection();
    const troubles: string[] = [];
    const report: Report = (_, ...[payload]) => {
      if ('error' in payload && payload.error instanceof Error) troubles.push(payload.error.message);
    };
    const leave = listen({ collection: collection.asCollection, settings, clock, report });
    await settled();
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 10) {
        clock.advance(10);
        await settled();
      }
    };
    return { clock, collection, troubles, leave, pass };
  }

  it('that dies soon after each first answer is opened again after pauses that grow', async () => {
    const { collection, pass } = await listening();
    let seen = 0;
    const dieSoon = async (forMs: number): Promise<number> => {
      const before = collection.streams.length;
      for (let passed = 0; passed < forMs; passed += 10) {
        for (; seen < collection.streams.length; seen += 1) {
          collection.streams[seen]?.answer();
          collection.streams[seen]?.refuse(91);
        }
        await pass(10);
      }
      return collection.streams.length - before;
    };
    await dieSoon(3_000);
    // With pauses of up to a second, half of that on average.
    expect(await dieSoon(30_000)).toBeLessThan(120);
  });

  it('that has lived for a while is opened again at once', async () => {
    const { collection, pass } = await listening();
    for (let lives = 0; lives < 10; lives += 1) {
      const stream = collection.streams.at(-1);
      expect(collection.streams).toHaveLength(lives + 1);
      for (let second = 0; second <= 5; second += 1) {
        stream?.answer();
        await pass(1_000);
      }
      stream?.answer();
      stream?.refuse(91);
      await pass(10);
    }
  });

  it('has at most three cursors that the server has not answered (E36)', async () => {
    const { collection, troubles, pass } = await listening();
    await pass(20 * settings.storeTimeoutMs);
    expect(collection.streams).toHaveLength(3);
    expect(troubles).toContain('the server has not answered earlier change streams');
    for (const stream of collection.streams) stream.answer();
    await pass(2_000);
    expect(collection.streams).toHaveLength(4);
  });

  it('is opened to its end though nobody listens any more, and then closed', async () => {
    const { collection, leave, pass } = await listening();
    leave();
    await pass(500);
    const [stream] = collection.streams;
    expect(stream?.isClosed).toBe(false);
    stream?.answer();
    await pass(500);
    expect(stream?.isClosed).toBe(false);
    await pass(1_000);
    expect(stream?.isClosed).toBe(true);
    expect(collection.streams).toHaveLength(1);
  });
});
