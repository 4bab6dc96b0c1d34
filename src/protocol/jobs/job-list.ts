// Folder `jobs`: what an election stores about its jobs. There is a list of claims and a list of calls, each with at
// most one entry per job.

import { all, any, equal, hasType, literal, not, filter, when } from '../expressions.js';
import type { Expression } from '../expressions.js';

/**
 * The name of a list, which is a field of the document. The field is missing before the first entry. The list is an
 * array and not an object, because a job name may have characters that a field name may not have.
 */
export type JobList = 'claims' | 'calls';

/**
 * Whether the stored list has only well-formed entries, and at most one for each job. Whatever is stored, this
 * expression raises no error.
 */
export const isWellFormedList = (list: JobList, isEntry: Expression): Expression =>
  any(
    hasType(`$${list}`, 'missing'),
    all(
      hasType(`$${list}`, 'array'),
      equal(filter(`$${list}`, not(isEntry)), []),
      equal({ $size: { $setUnion: [`$${list}.job`] } }, { $size: `$${list}` }),
    ),
  );

export const isOfJob = (job: string): Expression => equal('$$this.job', literal(job));

export const storedList = (list: JobList): Expression => ({ $ifNull: [`$was.${list}`, []] });

/** An array with the entry of this job; empty if the job has none, or if the document may not be changed (`$ok`). */
export const ownEntry = (list: JobList, job: string): Expression =>
  filter(when('$ok', storedList(list), []), isOfJob(job));

/**
 * The list with `entry` in place of the stored entry of the job. `$own` is the result of `ownEntry`. If `$own` is
 * empty, `entry` comes at the end of the list.
 */
export const withEntry = (list: JobList, job: string, entry: Expression): Expression =>
  when(
    equal('$own', []),
    { $concatArrays: [storedList(list), [entry]] },
    { $map: { input: storedList(list), in: when(isOfJob(job), entry, '$$this') } },
  );
