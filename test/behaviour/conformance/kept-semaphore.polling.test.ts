import { runOwnSuites } from './own-suites.js';

runOwnSuites('semaphore', { wakeups: 'polling', keeps: true });
