import { MUTATIONS } from '../../faults/mutations/mutant.js';
import { FAULT_MUTATIONS } from './fault-mutations.js';
import { GROUNDS, OWN_GROUNDS } from './hunting-grounds.js';
import { ELECTION_MUTATIONS, JOB_MUTATIONS } from './leader-mutations.js';
import { OTHER_MUTATIONS } from './lock-mutations.js';
import { OPERATOR_MUTATIONS } from './operator-mutations.js';
import { QUORUM_MUTATIONS } from './quorum-mutations.js';
import type { SimulatedMutation } from './simulated-mutation.js';

/** Those that are also hunted on real servers come first. */
export const ALL_MUTATIONS: readonly SimulatedMutation[] = [
  ...MUTATIONS.map(({ name, breaks, edits, trial }) => {
    const ground = OWN_GROUNDS[name] ?? GROUNDS[trial];
    return { name, breaks, edits, ground };
  }),
  ...QUORUM_MUTATIONS,
  ...JOB_MUTATIONS,
  ...ELECTION_MUTATIONS,
  ...OTHER_MUTATIONS,
  ...OPERATOR_MUTATIONS,
  ...FAULT_MUTATIONS,
];
