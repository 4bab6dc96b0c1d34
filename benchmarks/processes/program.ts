// The program of every other process that a benchmark starts.
import { bareBoard } from './bare-board.js';
import { busy } from './busy.js';
import { candidate } from './candidate.js';
import { connections } from './connections.js';
import { contender } from './contender.js';
import { holder } from './holder.js';
import { idleKeepers } from './idle-keepers.js';
import { keeper } from './keeper.js';
import { manyNames } from './many-names.js';
import { namesOnce } from './names-once.js';
import { serve } from './serve.js';
import { singleCalls } from './single-calls.js';
import { standbys } from './standbys.js';

const duties = {
  ...{ ...connections, ...contender, ...candidate, ...holder, ...keeper, ...standbys },
  ...{ ...bareBoard, ...busy, ...idleKeepers, ...manyNames, ...namesOnce, ...singleCalls },
};

export type Duties = typeof duties;

serve(duties);
