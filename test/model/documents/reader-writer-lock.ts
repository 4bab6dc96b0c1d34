import type { Operation, Request } from '../../../src/protocol/operation.js';
import type { LockDocumentDriver, StoredDocument } from './lock-document-driver.js';
import { versionOf } from '../../../src/testing/judge/lock-version.js';
import { enqueue } from './operations.js';

/** Shorthands for tests of the document of a reader-writer lock. */

export const read = (id: string, overrides?: Partial<Request>): Operation =>
  enqueue(id, { mode: 'read', ...overrides });
export const readUpgradeably = (id: string, overrides?: Partial<Request>): Operation =>
  enqueue(id, { mode: 'upgradeable', ...overrides });
export const write = (id: string, overrides?: Partial<Request>): Operation =>
  enqueue(id, { mode: 'write', ...overrides });

/** A lock after these operations, each in an update of its own. */
export async function lockAfter(
  driver: LockDocumentDriver,
  ...operations: readonly Operation[]
): Promise<string> {
  const name = driver.newName();
  for (const operation of operations) await driver.apply(name, [operation]);
  return name;
}

/** The holders with their modes, and the waiters. */
export function seen(stored: StoredDocument | null): readonly string[] {
  const { leases, queue } = versionOf(stored);
  const seats = leases.map(
    ({ id, mode = '', upgrading }) => `${id} ${upgrading === true ? 'upgrading' : mode}`,
  );
  return [...seats, ...queue.map(([id]) => `${id} waits`)];
}

export const tokenOf = (stored: StoredDocument | null, id: string): number =>
  versionOf(stored).leases.find((lease) => lease.id === id)?.token ?? 0;
