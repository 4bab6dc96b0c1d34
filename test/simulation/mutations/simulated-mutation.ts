import type { Edit } from '../../faults/mutations/mutation.js';
import type { Wanted } from '../plan/wanted.js';

/** A bug that only the simulation hunts, because no trial on real servers is made for it. */
export interface SimulatedMutation {
  readonly name: string;
  readonly breaks: string;
  readonly edits: readonly [Edit, ...Edit[]];
  readonly ground: Wanted;
}
