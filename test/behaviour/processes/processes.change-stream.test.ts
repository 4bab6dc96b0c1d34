import { runProcessSuites } from './process-suites.js';

runProcessSuites('change-stream');
