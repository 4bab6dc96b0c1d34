import { runOwnSuites } from './own-suites.js';

runOwnSuites('semaphore', { wakeups: 'change-stream', keeps: false });
