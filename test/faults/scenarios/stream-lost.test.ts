import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';

import { eventually, later, pause, within } from '../../../lab/patience.js';
import { failCommands, twoProviders, useOwnServer } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';

useOwnServer();

/** The errors by which the server ends a change stream, or a closed connection. */
const FAULTS: Readonly<Record<string, Document>> = {
  ChangeStreamHistoryLost: { errorCode: 286 },
  CappedPositionLost: { errorCode: 136 },
  CursorNotFound: { errorCode: 43 },
  ChangeStreamFatalError: { errorCode: 280 },
  'a closed connection': { closeConnection: true },
};

/** The first stages of the change streams that were opened. */
const openings = ({ commands }: TestProvider): readonly Document[] =>
  commands
    .filter(({ commandName }) => commandName === 'aggregate')
    .map(({ command }) => (command['pipeline'] as readonly Document[])[0]?.['$changeStream'] as Document);

const RESUMPTION = ['resumeAfter', 'startAfter', 'startAtOperationTime'];

/** One provider holds the lock that the other one waits for with an open stream. */
async function heldAndWaitedFor() {
  const [one, other] = await twoProviders({ leaseMs: 60_000, createIndexes: false });
  const modes: string[] = [];
  other.locks.on('wakeups', ({ mode }) => modes.push(mode));
  const hold = await one.locks.acquireMutex('a');
  const wait = later(other.locks.acquireMutex('a'));
  await eventually('its stream is open', () => modes.includes('change-stream'));
  const troubles: unknown[] = [];
  other.locks.on('storeError', ({ during, error }) => {
    if (during === 'stream') troubles.push(error);
  });
  return { one, other, hold, wait, troubles };
}

describe('a stream', () => {
  it.each(Object.entries(FAULTS))(
    'is opened anew each time it ends by %s, and the waiter is granted the lock',
    async (_, fault) => {
      const { other, hold, wait, troubles } = await heldAndWaitedFor();
      await failCommands(other, { times: 3 }, { failCommands: ['getMore'], ...fault });
      await eventually('three times', () => troubles.length >= 3);
      await hold.release();
      const next = await within(10_000, 'the grant', wait);
      expect(next.fencingToken).toBeGreaterThan(hold.fencingToken);
      const opened = openings(other);
      // The last opening may still be in flight.
      expect(opened.length).toBeGreaterThanOrEqual(3);
      expect(opened.length).toBeLessThanOrEqual(4);
      for (const stage of opened) for (const option of RESUMPTION) expect(stage).not.toHaveProperty(option);
    },
  );

  it('is opened about twice a second if it always ends at once, and the waiter is still granted the lock', async () => {
    const { other, hold, wait, troubles } = await heldAndWaitedFor();
    const heal = await failCommands(other, 'alwaysOn', { failCommands: ['getMore'], errorCode: 286 });
    await eventually('a few times', () => troubles.length >= 5);
    await hold.release();
    const next = await within(10_000, 'the grant', wait);
    const before = openings(other).length;
    const blocked = later(other.locks.acquireMutex('a'));
    await pause(2_000);
    // With pauses of up to a second, half of that on average.
    expect(openings(other).length - before).toBeLessThan(12);
    await heal();
    await next.release();
    await (await within(10_000, 'the grant', blocked)).release();
  });
});
