import { ELECTION_MUTATIONS, JOB_MUTATIONS } from './leader-mutations.js';
import { OTHER_MUTATIONS } from './lock-mutations.js';
import { QUORUM_MUTATIONS } from './quorum-mutations.js';
import type { SimulatedMutation } from './simulated-mutation.js';

export const NEW_MUTATIONS: readonly SimulatedMutation[] = [
  ...QUORUM_MUTATIONS,
  ...JOB_MUTATIONS,
  ...ELECTION_MUTATIONS,
  ...OTHER_MUTATIONS,
];
