// How many bytes each import adds to a bundle: minified, compressed by gzip, with the two dependencies, without the driver.
// Measures the built library in dist, and fails if an import is larger than its budget, or has what it must not have.
import { gzipSync } from 'node:zlib';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

interface Import {
  readonly what: string;
  readonly code: string;
  /** The most bytes. A change that needs more raises the budget in the same commit, and says why. */
  readonly budget: number;
  /** Texts of parts that must not be in this bundle. */
  readonly without?: readonly string[];
}

const NODE_CRON = 'runCoordinator';
const QUORUM = 'a quorum has no semaphores';
const TESTING = 'MemoryReplicaSet';
const OPENTELEMETRY = 'leasehold.acquire.duration';
const DASHBOARD = 'this dashboard is read-only';

const IMPORTS: readonly Import[] = [
  {
    what: 'a mutex of a LockProvider',
    code: `import { LockProvider } from './index.js';
           export const use = (db, work) => new LockProvider(db).createMutex('x').use(work);`,
    budget: 82_500,
    without: [NODE_CRON, OPENTELEMETRY, QUORUM, TESTING, DASHBOARD],
  },
  {
    what: 'everything of leasehold',
    code: `export * from './index.js';`,
    budget: 92_500,
    without: [NODE_CRON, OPENTELEMETRY, TESTING, DASHBOARD],
  },
  {
    what: 'leasehold/quorum',
    code: `export * from './quorum.js';`,
    budget: 63_000,
    without: [NODE_CRON, OPENTELEMETRY, TESTING, DASHBOARD],
  },
  {
    what: 'leasehold/dashboard, without a provider',
    code: `export * from './dashboard.js';`,
    budget: 24_000,
    without: [NODE_CRON, OPENTELEMETRY, QUORUM, TESTING],
  },
  {
    what: 'leasehold/testing',
    code: `export * from './testing.js';`,
    budget: 37_000,
    without: [NODE_CRON, OPENTELEMETRY, QUORUM],
  },
  {
    what: 'leasehold/opentelemetry, without a provider and without the API',
    code: `export * from './opentelemetry.js';`,
    budget: 4_500,
    without: [NODE_CRON, QUORUM, TESTING],
  },
  {
    what: 'leasehold/node-cron, without a provider',
    code: `export * from './node-cron.js';`,
    budget: 7_500,
    without: [QUORUM, TESTING],
  },
];

const dist = fileURLToPath(new URL('../../dist', import.meta.url));

async function bundled(code: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: dist },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: ['mongodb', '@opentelemetry/api'],
    write: false,
    // An entry of dist imports shared chunks for their side effects, of which they have none.
    logLevel: 'error',
  });
  return outputFiles[0]?.text ?? '';
}

for (const { what, code, budget, without = [] } of IMPORTS) {
  const text = await bundled(code);
  const bytes = gzipSync(text, { level: 9 }).length;
  const found = without.filter((part) => text.includes(part));
  const isTooLarge = bytes > budget;
  console.log(
    `leasehold size: ${what}: ${String(bytes)} of ${String(budget)} bytes${isTooLarge ? ', TOO LARGE' : ''}`,
  );
  if (found.length > 0)
    console.error(`leasehold size: ${what} has ${found.join(', ')}, which it must not have`);
  if (isTooLarge || found.length > 0) process.exitCode = 1;
}
