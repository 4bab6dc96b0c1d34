import { inject } from 'vitest';
import type { LockProvider, LockProviderOptions } from '../../../src/index.js';
import type { Lease } from '../../../src/protocol/lock-document.js';
import { OwnDatabase, randomName } from '../../support/own-database.js';
import { CandidateProcess } from './candidate-process.js';
import type { CandidatesTask } from './candidate-lines.js';

type Conduct = Pick<CandidatesTask, 'transitionMs' | 'workMs'> & { readonly options: LockProviderOptions };

const COLLECTION = 'distributed.locks';

/** One election, this process, which only looks, and processes of candidates. */
export class CandidateWorld implements AsyncDisposable {
  readonly election = randomName('election');
  readonly database = new OwnDatabase(inject('mongoUri'));
  readonly spectator: LockProvider = this.database.client().provider({ createIndexes: false });
  readonly #program: string;
  readonly #conduct: Conduct;
  readonly #processes: CandidateProcess[] = [];

  constructor(program: string, conduct: Conduct) {
    this.#program = program;
    this.#conduct = conduct;
  }

  /** Those that were started, also those that have ended. */
  get processes(): readonly CandidateProcess[] {
    return this.#processes;
  }

  get namespace(): string {
    return `${this.database.name}.${COLLECTION}`;
  }

  async process(candidateIds: readonly string[], seed = 1): Promise<CandidateProcess> {
    const started = await CandidateProcess.start(this.#program, {
      ...{
        uri: this.database.uri,
        database: this.database.name,
        election: this.election,
        candidateIds,
        seed,
      },
      ...this.#conduct,
      options: { createIndexes: false, ...this.#conduct.options },
    });
    this.#processes.push(started);
    return started;
  }

  /** A process of this candidate alone, which stands for election; elected already if nobody else was there. */
  async standing(candidateId: string): Promise<CandidateProcess> {
    const started = await this.process([candidateId]);
    started.order({ do: 'start', candidate: candidateId });
    return started;
  }

  /** The lease as it is stored, also when its time is over. */
  async storedLease(): Promise<Lease | null> {
    const stored = this.database.plain.db.collection<{ _id: string; holder: Lease | null }>(COLLECTION);
    return (await stored.findOne({ _id: this.election }))?.holder ?? null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#processes.map((each) => each[Symbol.asyncDispose]()));
    await this.database[Symbol.asyncDispose]();
  }
}
