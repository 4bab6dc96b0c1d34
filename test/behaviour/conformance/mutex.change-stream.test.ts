import { mutex } from './adapters.js';
import { runLockSuites } from './lock-suites.js';

runLockSuites({ adapter: mutex, wakeups: 'change-stream' });
