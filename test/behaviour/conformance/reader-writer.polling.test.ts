import { runOwnSuites } from './own-suites.js';

runOwnSuites('reader-writer', 'polling');
