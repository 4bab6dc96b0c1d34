import { runOwnSuites } from './own-suites.js';

runOwnSuites('all-or-nothing', { wakeups: 'change-stream', keeps: false });
