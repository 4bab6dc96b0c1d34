import { runProcessSuites } from './process-suites.js';

runProcessSuites('polling');
