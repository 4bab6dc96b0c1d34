import { expect, it } from 'vitest';

import { eventually } from '../../../lab/patience.js';
import { failCommands, useOwnServer } from '../../support/test-provider.js';
import { Fleet, LIVES, node, resultOf, untilPrinted, useCommandLine } from './command-line.js';

useCommandLine();
useOwnServer();

/** Makes a fleet whose commands can be made to fail: the server knows them by the name of their application. */
function failing(): { fleet: Fleet; appName: string; env: Record<string, string> } {
  const fleet = new Fleet();
  const appName = `outage-${fleet.database.name}`;
  return {
    fleet,
    appName,
    env: { LEASEHOLD_URI: fleet.database.uri.replace('/?', `/?appName=${appName}&`) },
  };
}

const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');

const FAILS = { failCommands: ['find'], closeConnection: true };

it('watch says once that the store is away, goes on, and prints the next change', async () => {
  const { fleet, appName, env } = failing();
  const held = await fleet.locks.acquireMutex('x');
  const child = fleet.startWith(env, 'watch', 'x');
  await untilPrinted(child, 'held by');
  const heal = await failCommands({ appName }, 'alwaysOn', FAILS);
  await eventually('it says so', (see) => see(child.stderr).includes('unavailable, reconnecting'));
  await held.release();
  await heal();
  await untilPrinted(child, 'free');
  child.signal('SIGINT');
  const { code, stderr } = await resultOf(child);
  expect(code).toBe(130);
  expect(linesOf(stderr)).toHaveLength(1);
});

it('wait -w ends with 69 if the store is away when its time is up', async () => {
  const { fleet, appName, env } = failing();
  await using held = await fleet.locks.acquireMutex('x');
  // The first read is answered.
  await failCommands({ appName }, { skip: 1 }, FAILS);
  const child = fleet.startWith(env, 'wait', 'x', '-w', '10s');
  await eventually('it says so', (see) => see(child.stderr).includes('unavailable, reconnecting'));
  expect((await resultOf(child, 60_000)).code).toBe(69);
  expect(held.isHeld).toBe(true);
});

it('a loss is said once', async () => {
  const fleet = new Fleet();
  const child = fleet.start('run', 'x', '--lease', '15s', ...node(LIVES));
  await untilPrinted(child, 'up');
  await fleet.database.plain.db.collection('distributed.locks').deleteMany({});
  const { code, stderr } = await resultOf(child);
  expect(code).toBe(76);
  expect(linesOf(stderr)).toHaveLength(1);
});

it('a failure of the store is said without advice for programmers, and so is its end', async () => {
  const { fleet, appName, env } = failing();
  const child = fleet.startWith(env, 'run', 'x', '--lease', '15s', ...node(LIVES));
  await untilPrinted(child, 'up');
  const heal = await failCommands({ appName }, 'alwaysOn', {
    failCommands: ['update', 'findAndModify', 'aggregate', 'bulkWrite', 'find'],
    errorCode: 189,
  });
  await eventually('it says so', (see) => see(child.stderr).includes('The store failed or did not answer'));
  await heal();
  await eventually('its end is said', (see) => see(child.stderr).includes('The store answers again'));
  child.signal('SIGTERM');
  const { code, stderr } = await resultOf(child);
  expect(code).toBe(143);
  expect(linesOf(stderr).filter((line) => line.includes('The store '))).toHaveLength(2);
  expect(stderr).not.toMatch(/listener|https:/);
});
