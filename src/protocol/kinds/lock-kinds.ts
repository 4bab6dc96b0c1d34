import type { KindRules } from '../kind-rules.js';
import { electionRules } from './election-rules.js';
import { mutexRules } from './mutex-rules.js';
import { readerWriterRules } from './reader-writer-rules.js';
import { semaphoreRules } from './semaphore-rules.js';

/**
 * The kinds whose leases are in different fields, so that a read finds each lease once. The election is left out: the
 * lease of its leader is in the field of a mutex.
 */
export const KINDS_BY_LEASE_FIELDS: readonly KindRules[] = [mutexRules, readerWriterRules, semaphoreRules];

export const KINDS: readonly KindRules[] = [...KINDS_BY_LEASE_FIELDS, electionRules];
