import { runOwnSuites } from './own-suites.js';

runOwnSuites('all-or-nothing', { wakeups: 'polling', keeps: false });
