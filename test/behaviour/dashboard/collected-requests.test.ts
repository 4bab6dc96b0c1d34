import { expect, it } from 'vitest';

import { eventually, within } from '../../../lab/patience.js';
import { collectGarbage } from '../../support/collect-garbage.js';
import { untilTestEnds } from '../../support/current-test.js';
import { EventReader } from './event-reader.js';
import { World } from './dashboard-world.js';

/** A stream that goes on has a message every second, so it does not end by the bound of a read. */
const ENDED_MS = 20_000;

/** Opens the events as an adapter does that keeps nothing but the response and the signal of its own. */
async function view({ handler }: World, signal: AbortSignal): Promise<EventReader> {
  const request = new Request('http://dashboard.test/events', { signal });
  return untilTestEnds(new EventReader(await handler(request)));
}

/** Resolves when an object that nothing refers to has been collected. */
async function collected(): Promise<void> {
  const sentinel = new WeakRef({});
  await eventually('garbage is collected', (see) => {
    collectGarbage();
    return see(sentinel.deref()) === undefined;
  });
}

it('a viewer leaves when the signal of its request aborts, although nobody else keeps the request', async () => {
  const world = new World();
  const departure = new AbortController();
  const viewer = await view(world, departure.signal);
  await viewer.until('it is live', ({ last }) => last?.state === 'live');
  await collected();
  departure.abort();
  // The stream may have messages on its way.
  const rest = async (): Promise<void> => {
    while (await viewer.read());
  };
  await expect(within(ENDED_MS, 'the stream ends', rest())).resolves.toBeUndefined();
});
