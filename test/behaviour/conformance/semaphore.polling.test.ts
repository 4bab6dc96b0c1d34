import { runOwnSuites } from './own-suites.js';

runOwnSuites('semaphore', 'polling');
