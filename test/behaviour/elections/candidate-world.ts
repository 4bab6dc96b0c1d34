import type { LockProvider, LockProviderOptions } from '../../../src/index.js';
import type { Lease } from '../../../src/protocol/lock-document.js';
import { OwnDatabase, randomName } from '../../support/test-provider.js';
import { Child } from '../../../lab/processes/child.js';
import type { CandidatesTask, Line, Order } from './candidate-lines.js';

type Conduct = Pick<CandidatesTask, 'transitionMs' | 'workMs'> & { readonly options: LockProviderOptions };

const COLLECTION = 'distributed.locks';

/** A process of candidates as its parent sees it. */
export type CandidateProcess = Child<Order, Line>;

/** One election with several processes of candidates. This process only observes it. */
export class CandidateWorld implements AsyncDisposable {
  readonly election = randomName('election');
  readonly database = new OwnDatabase();
  readonly spectator: LockProvider = this.database.client().provider({ createIndexes: false });
  readonly #program: { readonly path: string };
  readonly #conduct: Conduct;
  readonly #processes: CandidateProcess[] = [];

  constructor(program: { readonly path: string }, conduct: Conduct) {
    this.#program = program;
    this.#conduct = conduct;
  }

  /** All processes that were started, including those that have ended. */
  get processes(): readonly CandidateProcess[] {
    return this.#processes;
  }

  get namespace(): string {
    return `${this.database.name}.${COLLECTION}`;
  }

  async process(candidateIds: readonly string[], seed = 1): Promise<CandidateProcess> {
    const task: CandidatesTask = {
      ...{ uri: this.database.uri, database: this.database.name },
      ...{ election: this.election, candidateIds, seed },
      ...this.#conduct,
      options: { createIndexes: false, ...this.#conduct.options },
    };
    const started: CandidateProcess = new Child([this.#program.path, JSON.stringify(task)]);
    this.#processes.push(started);
    await started.heard('ready');
    return started;
  }

  /** Starts a process with this candidate alone, and lets it stand for election. */
  async standing(candidateId: string): Promise<CandidateProcess> {
    const started = await this.process([candidateId]);
    started.order({ do: 'start', candidate: candidateId });
    return started;
  }

  /** The stored lease, even if it has expired. */
  async storedLease(): Promise<Lease | null> {
    const stored = this.database.plain.db.collection<{ _id: string; holder: Lease | null }>(COLLECTION);
    return (await stored.findOne({ _id: this.election }))?.holder ?? null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#processes.map((each) => each[Symbol.asyncDispose]()));
    await this.database[Symbol.asyncDispose]();
  }
}
