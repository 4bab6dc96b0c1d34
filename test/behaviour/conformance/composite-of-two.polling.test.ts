import { compositeOfTwo } from './adapters.js';
import { runLockSuites } from './lock-suites.js';

runLockSuites({ adapter: compositeOfTwo, wakeups: 'polling' });
