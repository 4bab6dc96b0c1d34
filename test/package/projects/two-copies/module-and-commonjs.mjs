// Runs without `require` of ES modules, as on Node.js before 20.19: `require` loads the CommonJS files.
import { strictEqual } from 'node:assert';
import { createRequire } from 'node:module';

import * as modules from 'leasehold';

import { contend } from './contend.mjs';

const require = createRequire(import.meta.url);
const commonJs = require('leasehold');
strictEqual(require.resolve('leasehold').endsWith('.cjs'), true);
strictEqual(require('leasehold/quorum').QuorumLockProvider, commonJs.QuorumLockProvider);
await contend(modules, commonJs, 'module-and-commonjs');
