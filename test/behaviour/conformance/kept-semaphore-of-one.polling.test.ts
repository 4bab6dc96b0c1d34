import { keptSemaphoreOfOne } from './adapters.js';
import { runLockSuites } from './lock-suites.js';

runLockSuites({ adapter: keptSemaphoreOfOne, wakeups: 'polling' });
