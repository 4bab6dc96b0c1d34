import { writeLock } from './adapters.js';
import { runLockSuites } from './lock-suites.js';

runLockSuites({ adapter: writeLock, wakeups: 'polling' });
