import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/events.js';
import { parseProviderOptions } from '../../../src/options/provider-options.js';
import { LockCollection } from '../../../src/store/lock-collection.js';
import { WakeStream } from '../../../src/store/streams/wake-stream.js';
import { whenTestEnds } from '../../support/current-test.js';
import { ManualClock } from '../../support/manual-clock.js';
import { eventually } from '../../../lab/patience.js';
import { testProvider } from '../../support/test-provider.js';

/** A wake stream of a real server, with a manual clock in the process. */
async function openStream() {
  const { db } = await testProvider();
  const clock = new ManualClock();
  const settings = parseProviderOptions();
  const collection = new LockCollection(db, settings, clock, () => undefined);
  const troubles: string[] = [];
  const report: Report = (_, ...[payload]) => {
    if ('error' in payload && payload.error instanceof Error) {
      troubles.push(payload.error.message);
    }
  };
  const [woken, seen]: [string[], { opened: number }] = [[], { opened: 0 }];
  const ignored = (): void => undefined;
  const stream = new WakeStream({ collection, settings, clock, report }, 'host:1:a', {
    onWoken: (_, id) => woken.push(id),
    onGap: () => (seen.opened += 1),
    onNoStream: ignored,
    onCollectionGone: ignored,
    refusedByDriver: ignored,
    streamRequiredButRefused: ignored,
  });
  whenTestEnds(async () => {
    await stream.close();
    collection.close();
  });
  stream.listen(true);
  await eventually('the opening', () => seen.opened === 1);
  /** Writes a wake word for this attempt. Returns when the stream has delivered it, or has failed. */
  const wake = async (id: string): Promise<void> => {
    const documents = db.collection<{ _id: string; wake: string }>(collection.name);
    await documents.replaceOne({ _id: 'a' }, { wake: ` host:1:a:${id}:0` }, { upsert: true });
    await eventually(`the wake word of ${id}`, () => woken.includes(id) || troubles.length > 0);
  };
  return { clock, settings, troubles, seen, wake };
}

describe('a change stream that delivers events all the time', () => {
  it('is not treated as silent', async () => {
    const { clock, settings, troubles, seen, wake } = await openStream();
    // The driver reports an answer without events in another way than an answer with events.
    for (let word = 1; word <= 10; word += 1) {
      clock.advance(settings.storeTimeoutMs);
      await wake(`w${String(word)}`);
    }
    expect(troubles).toEqual([]);
    expect(seen.opened).toBe(1);
    clock.advance(3 * settings.storeTimeoutMs);
    expect(troubles).toEqual(['the change stream fell silent']);
  });
});
