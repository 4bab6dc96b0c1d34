// Node.js that can `require` an ES module loads one copy for `import` and `require`.
import { strictEqual } from 'node:assert';
import { createRequire } from 'node:module';

import * as modules from 'leasehold';

const required = createRequire(import.meta.url)('leasehold');
strictEqual(required.LockProvider, modules.LockProvider);
strictEqual(required.AcquireTimeoutError, modules.AcquireTimeoutError);
