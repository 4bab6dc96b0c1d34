import { semaphoreWithOneLeft } from './adapters.js';
import { runLockSuites } from './lock-suites.js';

runLockSuites({ adapter: semaphoreWithOneLeft, wakeups: 'change-stream' });
