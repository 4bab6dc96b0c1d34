import { all, any, equal, hasType, literal, not, filter, when } from '../expressions.js';
import type { Expression } from '../expressions.js';

/**
 * A list in the document of an election with one entry for each job, missing before the first entry. An array, because job
 * names may have any characters, so they are values and no field names.
 */
export type JobList = 'claims' | 'calls';

/** Whether the stored list can be computed with: each of its values is an entry, and no job has two. Never fails. */
export const isSoundList = (list: JobList, isEntry: Expression): Expression =>
  any(
    hasType(`$${list}`, 'missing'),
    all(
      hasType(`$${list}`, 'array'),
      equal(filter(`$${list}`, not(isEntry)), []),
      equal({ $size: { $setUnion: [`$${list}.job`] } }, { $size: `$${list}` }),
    ),
  );

/** Whether an entry is that of this job. */
export const isOfJob = (job: string): Expression => equal('$$this.job', literal(job));

/** The list as the update found it; empty if there is none. */
export const storedList = (list: JobList): Expression => ({ $ifNull: [`$was.${list}`, []] });

/** The entry of this job in an array: one, or none. Those of an illegal document are none. */
export const ownEntry = (list: JobList, job: string): Expression =>
  filter(when('$ok', storedList(list), []), isOfJob(job));

/** The list with this entry in the place of the job's own, which `$own` shows, or at the end if it has none. */
export const withEntry = (list: JobList, job: string, entry: Expression): Expression =>
  when(
    equal('$own', []),
    { $concatArrays: [storedList(list), [entry]] },
    { $map: { input: storedList(list), in: when(isOfJob(job), entry, '$$this') } },
  );
