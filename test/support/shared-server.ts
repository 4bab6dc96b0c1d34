import type {} from 'vitest';
import type { TestProject } from 'vitest/node';

import { connectOrStart } from '../../lab/mongo-server/connect-or-start.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** A replica set shared by all test files: `inject('mongoUri')`. */
    mongoUri: string;
  }
}

export default async function startSharedServer(project: TestProject): Promise<() => Promise<void>> {
  const server = await connectOrStart();
  project.provide('mongoUri', server.uri);
  return async () => server.stop();
}
