import { peers } from '../peers/peers.js';
import { peersNames } from '../peers/peers-names.js';
import type { Scenario } from '../scenario.js';
import { dashboard } from './dashboard.js';
import { election } from './election.js';
import { handover } from './handover.js';
import { idle } from './idle.js';
import { keep } from './keep.js';
import { keepers } from './keepers.js';
import { local } from './local.js';
import { memory } from './memory.js';
import { names } from './names.js';
import { overload } from './overload.js';
import { queue } from './queue.js';
import { scale } from './scale.js';
import { start } from './start.js';
import { telemetry } from './telemetry.js';
import { uncontended } from './uncontended.js';
import { waiting } from './waiting.js';

/** The scenarios of the default run, in their order. */
export const usualScenarios: readonly Scenario[] = [
  ...[uncontended, names, handover, election, local, keep, keepers, idle, memory],
  ...[queue, scale, waiting, overload, telemetry, start],
];

/**
 * The others run only on request: those of other libraries need other servers and packages, and that of the dashboard
 * needs Chromium.
 */
export const allScenarios: readonly Scenario[] = [...usualScenarios, dashboard, peers, peersNames];
