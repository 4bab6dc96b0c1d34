import { electionSeats } from '../../../src/protocol/kinds/election-seats.js';
import { mutexSeats } from '../../../src/protocol/kinds/mutex-seats.js';
import { readerWriterSeats } from '../../../src/protocol/kinds/reader-writer-seats.js';
import type { SeatRules } from '../../../src/protocol/seats.js';
import { semaphoreSeats } from '../../../src/protocol/kinds/semaphore-seats.js';
import { electionModel } from '../reference/election-model.js';
import { mutexModel } from '../reference/mutex-model.js';
import { readerWriterModel } from '../reference/reader-writer-model.js';
import type { ModelKind } from '../reference/model-kind.js';
import { semaphoreModel } from '../reference/semaphore-model.js';

/** One kind of lock, by the pipelines and by the reference model. */
export interface TestedKind {
  readonly seats: SeatRules;
  readonly model: ModelKind;
}

export const MUTEX: TestedKind = { seats: mutexSeats, model: mutexModel };
export const READER_WRITER: TestedKind = { seats: readerWriterSeats, model: readerWriterModel };
export const SEMAPHORE: TestedKind = { seats: semaphoreSeats, model: semaphoreModel };

export const ELECTION: TestedKind = { seats: electionSeats, model: electionModel };

export const KINDS: readonly TestedKind[] = [MUTEX, READER_WRITER, SEMAPHORE, ELECTION];

export const ALL_SEATS: readonly SeatRules[] = KINDS.map(({ seats }) => seats);

/** The kinds whose fields have leases. An election stores its leader where a mutex stores its holder. */
export const KINDS_BY_LEASE_FIELDS: readonly SeatRules[] = [mutexSeats, readerWriterSeats, semaphoreSeats];
