import type { Db, Document } from 'mongodb';

import { QuorumLockProvider } from '../../../src/quorum/index.js';
import type { QuorumLockProviderOptions } from '../../../src/quorum/index.js';
import { whenTestEnds } from '../../support/current-test.js';
import { isSimulated } from '../../support/on-servers.js';
import { randomName } from '../../support/test-provider.js';
import type { Deployment } from './deployment.js';
import { serverDeployments } from './server-deployments.js';
import { simulatedDeployments } from './simulated-deployments.js';

/** Three deployments for one test file. All tests of the file use one database. */
export class Deployments {
  readonly #members: readonly Deployment[];
  readonly #database: string;

  /** @param members - Read when a test uses them. */
  constructor(members: readonly Deployment[], database: string) {
    this.#members = members;
    this.#database = database;
  }

  get all(): readonly Deployment[] {
    return this.#members;
  }

  at(index: number): Deployment {
    const member = this.#members[index];
    if (member === undefined) throw new Error(`there is no deployment ${index}`);
    return member;
  }

  db(index: number): Db {
    return this.at(index).db(this.#database);
  }

  /** A provider on clients of its own, closed when the test ends. */
  provider(options?: QuorumLockProviderOptions): QuorumLockProvider {
    const dbs = this.#members.map((member) => member.db(this.#database));
    const locks = new QuorumLockProvider(dbs, { createIndexes: false, ...options });
    whenTestEnds(() => locks.close({ drainMs: 0 }));
    return locks;
  }

  /** The lock document of one deployment. */
  async document(index: number, name: string): Promise<Document | null> {
    return await this.db(index).collection<{ _id: string }>('distributed.locks').findOne({ _id: name });
  }

  async heal(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.heal()));
  }
}

/** On real servers, or on replica sets in memory if the tests of this file run in memory. */
export function useThreeDeployments(): Deployments {
  const database = randomName('quorum');
  return new Deployments(isSimulated ? simulatedDeployments(database) : serverDeployments(), database);
}
