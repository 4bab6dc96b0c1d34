import { keptCompositeOfTwo } from './adapters.js';
import { runLockSuites } from './lock-suites.js';

runLockSuites({ adapter: keptCompositeOfTwo, wakeups: 'polling' });
