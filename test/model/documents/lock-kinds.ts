import { electionRules } from '../../../src/protocol/kinds/election-rules.js';
import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import { readerWriterRules } from '../../../src/protocol/kinds/reader-writer-rules.js';
import type { KindRules } from '../../../src/protocol/kind-rules.js';
import { semaphoreRules } from '../../../src/protocol/kinds/semaphore-rules.js';
import { electionModel } from '../reference/election-model.js';
import { mutexModel } from '../reference/mutex-model.js';
import { readerWriterModel } from '../reference/reader-writer-model.js';
import type { ModelKind } from '../reference/model-kind.js';
import { semaphoreModel } from '../reference/semaphore-model.js';

/** One kind of lock, by the pipelines and by the reference model. */
export interface TestedKind {
  readonly rules: KindRules;
  readonly model: ModelKind;
}

export const MUTEX: TestedKind = { rules: mutexRules, model: mutexModel };
export const READER_WRITER: TestedKind = { rules: readerWriterRules, model: readerWriterModel };
export const SEMAPHORE: TestedKind = { rules: semaphoreRules, model: semaphoreModel };

export const ELECTION: TestedKind = { rules: electionRules, model: electionModel };

export const KINDS: readonly TestedKind[] = [MUTEX, READER_WRITER, SEMAPHORE, ELECTION];

export const ALL_SEATS: readonly KindRules[] = KINDS.map(({ rules }) => rules);

/** The kinds whose fields have leases. An election stores its leader where a mutex stores its holder. */
export const KINDS_BY_LEASE_FIELDS: readonly KindRules[] = [mutexRules, readerWriterRules, semaphoreRules];
