import { runOwnSuites } from './own-suites.js';

runOwnSuites('reader-writer', { wakeups: 'change-stream', keeps: false });
