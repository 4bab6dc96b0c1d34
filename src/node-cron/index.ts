export { runCoordinator } from './run-coordinator.js';
export type { RunCoordinator, RunCoordinatorOptions } from './run-coordinator.js';
