import { QuorumLockProvider as DeprecatedProvider } from 'leasehold';
import type {
  Mutex,
  OfStore as DeprecatedOfStore,
  QuorumError as DeprecatedError,
  QuorumLockProviderEvents as DeprecatedEvents,
  QuorumLockProviderOptions as DeprecatedOptions,
} from 'leasehold';
import { QuorumError, QuorumLockProvider } from 'leasehold/quorum';
import type { OfStore, QuorumLockProviderEvents, QuorumLockProviderOptions } from 'leasehold/quorum';
import { MongoClient } from 'mongodb';

export const options: DeprecatedOptions = { minValidityMs: 5_000 } satisfies QuorumLockProviderOptions;

const clients = ['east', 'west', 'north'].map((region) => new MongoClient(`mongodb://${region}.example/`));
const dbs = clients.map((client) => client.db('app'));

// Both entries export one class, and a value of either is a value of the other.
export const current: QuorumLockProvider = new DeprecatedProvider(dbs, options);
export const deprecated: DeprecatedProvider = new QuorumLockProvider(dbs, options);
export const mutex: Mutex = current.createMutex('types');

export class OwnProvider extends DeprecatedProvider {}

current.on('storeError', (event: QuorumLockProviderEvents['storeError'][0]) => {
  const told: DeprecatedEvents['storeError'][0] = event;
  const { store }: OfStore = told;
  const where: DeprecatedOfStore = { store };
  console.log(where);
});

export function failuresOf(error: unknown): readonly unknown[] {
  if (!(error instanceof QuorumError)) return [];
  const told: DeprecatedError = error;
  return told.failures;
}
