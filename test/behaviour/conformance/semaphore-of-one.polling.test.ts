import { semaphoreOfOne } from './adapters.js';
import { runLockSuites } from './lock-suites.js';

runLockSuites({ adapter: semaphoreOfOne, wakeups: 'polling' });
