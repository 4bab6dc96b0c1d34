import type { LockProvider, StoreErrorEvent } from '../index.js';

/** Collects the names of the corrupt documents that `list` leaves out, until the disposal. */
export class CorruptDocuments implements Disposable {
  readonly names: string[] = [];
  readonly #locks: LockProvider;
  readonly #onFound: (name: string) => void;

  constructor(locks: LockProvider, onFound: (name: string) => void = () => undefined) {
    this.#onFound = onFound;
    this.#locks = locks.on('storeError', this.#onStoreError);
  }

  [Symbol.dispose](): void {
    this.#locks.off('storeError', this.#onStoreError);
  }

  readonly #onStoreError = ({ lockName, during }: StoreErrorEvent): void => {
    if (during !== 'list' || lockName === null) return;
    this.names.push(lockName);
    this.#onFound(lockName);
  };
}

export const corruptLine = (name: string): string =>
  `the document of lock ${JSON.stringify(name)} is corrupt; it is left out`;
