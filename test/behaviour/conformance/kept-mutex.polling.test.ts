import { keptMutex } from './adapters.js';
import { runLockSuites } from './lock-suites.js';

runLockSuites({ adapter: keptMutex, wakeups: 'polling' });
