import { describe, expect, it } from 'vitest';

import type { Engine } from '../../../src/engine.js';
import type { Report } from '../../../src/events.js';
import { parseProviderOptions } from '../../../src/options/provider-options.js';
import { Deployment } from '../../../src/quorum/deployment.js';
import { DocumentWatch } from '../../../src/store/streams/document-watch.js';
import { MockCollection } from '../store/mock-streams.js';
import { ManualClock } from '../../support/manual-clock.js';
import { settled } from '../../../lab/patience.js';

const settings = parseProviderOptions();

const watched = () => {
  const clock = new ManualClock();
  const collection = new MockCollection();
  const reported: string[] = [];
  const report = ((name: string) => reported.push(name)) as Report;
  const watch = new DocumentWatch({ collection: collection.asCollection, settings, clock, report }, 10_000);
  const told: string[] = [];
  const see = (name: string): (() => void) =>
    watch.watch(name, { changed: (words) => told.push(`${name} ${words === null ? 'null' : words.join()}`) });
  const answer = async (): Promise<void> => {
    await settled();
    collection.streams.at(-1)?.answer();
    await settled();
  };
  return { clock, collection, reported, watch, told, see, answer };
};

describe('a stream over a few documents', () => {
  it('is widened for a new name without a notice to the watchers of the old names', async () => {
    const { collection, watch, told, see, answer } = watched();
    see('a');
    await answer();
    expect(told).toEqual(['a null']);
    see('b');
    await settled();
    const [first] = collection.streams;
    expect(watch.isStreaming).toBe(false);
    first?.change('a');
    expect(told.splice(0)).toEqual(['a null', 'a -w1:1']);
    await answer();
    expect(told).toEqual(['b null']);
    expect(first?.isClosed).toBe(true);
    expect(watch.isStreaming).toBe(true);
    expect(collection.streams).toHaveLength(2);
  });

  it('is reopened once for all names that are added while it is being opened', async () => {
    const { collection, told, see, answer } = watched();
    see('first');
    await settled();
    for (let index = 0; index < 20; index += 1) {
      see(`n${index}`);
      await settled();
    }
    expect(collection.streams).toHaveLength(1);
    await answer();
    await answer();
    expect(collection.streams).toHaveLength(2);
    expect(told).toHaveLength(21);
  });

  it('stays as it is if the new name is removed before the wider stream has answered', async () => {
    const { collection, watch, told, see, answer } = watched();
    see('a');
    await answer();
    const leave = see('b');
    await settled();
    leave();
    await answer();
    expect(told).toEqual(['a null']);
    expect(watch.isStreaming).toBe(true);
    expect(collection.streams.map(({ isClosed }) => isClosed)).toEqual([false, true]);
  });

  it.for([
    ['is not opened again after the server has refused it, which is reported once', 13, 1],
    ['is opened again after any other error', 91, 2],
  ] as const)('%s', async ([, code, streams]) => {
    const { clock, collection, reported, told, see } = watched();
    see('a');
    await settled();
    collection.streams.at(-1)?.refuse(code);
    await settled();
    clock.advance(2_000);
    await settled();
    expect(collection.streams).toHaveLength(streams);
    expect(reported).toEqual(['storeError']);
    expect(told).toEqual(['a null']);
    see('b');
    await settled();
    expect(collection.streams).toHaveLength(streams);
  });

  it('leaves no timer behind when its watcher leaves after its close', async () => {
    const { clock, watch, see, answer } = watched();
    const leave = see('a');
    await answer();
    await watch.close();
    leave();
    expect(clock.alarms).toBe(0);
  });
});

describe('a deployment', () => {
  it('opens no stream if its watches have to poll', async () => {
    const collection = new MockCollection();
    const context = { collection, settings, clock: new ManualClock(), report: () => undefined };
    for (const [wakeups, handshakes] of [
      ['polling', 0],
      ['auto', 1],
    ] as const) {
      const engine = { requester: { context }, observing: { ...settings, wakeups } };
      const deployment = new Deployment(0, engine as unknown as Engine);
      deployment.watch('m', { changed: () => undefined });
      await settled();
      expect(collection.handshakes).toBe(handshakes);
    }
  });
});
