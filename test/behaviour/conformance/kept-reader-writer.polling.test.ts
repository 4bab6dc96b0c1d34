import { runOwnSuites } from './own-suites.js';

runOwnSuites('reader-writer', { wakeups: 'polling', keeps: true });
