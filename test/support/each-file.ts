// Vitest runs this before each test file, also where several files share a process and the modules that it has loaded.
import { aroundEach } from 'vitest';

import { runToItsEnd } from './current-test.js';
import { renewSimulatedStore } from './simulated-store.js';

renewSimulatedStore();
aroundEach(runToItsEnd);
