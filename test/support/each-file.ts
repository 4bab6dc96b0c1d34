// Vitest runs this before each test file, also where several files share a process and the modules that it has loaded.
import { afterAll, aroundEach } from 'vitest';

import { endFile, runToItsEnd } from './current-test.js';
import { renewSimulatedStore } from './simulated-store.js';

renewSimulatedStore();
aroundEach(runToItsEnd);
afterAll(endFile);
