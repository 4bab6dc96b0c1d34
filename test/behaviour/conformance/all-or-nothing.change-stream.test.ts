import { runOwnSuites } from './own-suites.js';

runOwnSuites('all-or-nothing', 'change-stream');
