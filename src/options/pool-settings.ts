import { clientOf } from '../driver-types.js';
import type { DriverDb } from '../driver-types.js';
import { parseNamespace } from './provider-options.js';
import type { Settings } from './provider-options.js';

/** The error for an argument that is no `Db`. For a connection of Mongoose, the message says how to get the `Db`. */
function notADb(given: unknown): TypeError {
  const isMongoose = typeof (given as { getClient?: unknown } | null | undefined)?.getClient === 'function';
  const hint = isMongoose ? '; for a Mongoose connection, pass connection.getClient().db()' : '';
  return new TypeError(`db must be a Db of the driver, such as client.db('name')${hint}`);
}

/**
 * Checks `db` and the settings, and returns the settings to use. A change stream occupies a connection, so in a pool of
 * one connection every other command would have to wait for the stream (E36). With such a pool the provider polls, or
 * throws a `RangeError` if the option `wakeups` demands a change stream.
 */
export function settingsFor(db: DriverDb, settings: Settings): Settings {
  if (typeof (db as Partial<DriverDb> | null | undefined)?.command !== 'function') throw notADb(db);
  parseNamespace(db.databaseName, settings.collectionName);
  const { maxPoolSize } = clientOf(db).options;
  if (maxPoolSize !== 1 || settings.wakeups === 'polling') return settings;
  if (settings.wakeups === 'change-stream') {
    throw new RangeError("wakeups: 'change-stream' needs a client with maxPoolSize of at least 2, got 1");
  }
  return { ...settings, wakeups: 'polling', pollingWhy: 'the client has a pool of one connection' };
}

/**
 * The smallest pool with which `Engine.observing` allows a second change stream: one connection for the wake stream,
 * one for the second stream, and one for everything else.
 */
export const LEAST_POOL_TO_OBSERVE = 3;

/**
 * The smallest pool with which `Engine.overseeing` allows a third change stream, which needs one more connection.
 */
export const LEAST_POOL_TO_OVERSEE = 4;

/**
 * Returns settings that demand polling if the pool has fewer than `leastPool` connections, and otherwise the given
 * settings. In a pool of two, two streams would occupy both connections, and a command would wait up to a second until
 * the server answers one of the streams.
 */
export function observerSettings(db: DriverDb, settings: Settings, leastPool: number): Settings {
  const { maxPoolSize } = clientOf(db).options;
  const isRoomy = maxPoolSize === 0 || maxPoolSize >= leastPool;
  if (isRoomy || settings.wakeups === 'polling') return settings;
  return { ...settings, wakeups: 'polling', pollingWhy: 'the client has a pool of too few connections' };
}
