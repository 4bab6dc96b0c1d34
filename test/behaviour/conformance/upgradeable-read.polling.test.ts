import { upgradeableRead } from './adapters.js';
import { runLockSuites } from './lock-suites.js';

runLockSuites({ adapter: upgradeableRead, wakeups: 'polling' });
