import { AsyncLocalStorage } from 'node:async_hooks';

type End = () => unknown;

/** What is to be done when the running test has ended. */
const ends = new AsyncLocalStorage<End[]>();

/** What is to be done when the running file has ended. */
const endsOfFile: End[] = [];

/** Does this after the last test of the file that calls this. */
export function whenFileEnds(end: End): void {
  endsOfFile.push(end);
}

export async function endFile(): Promise<void> {
  for (let end = endsOfFile.pop(); end !== undefined; end = endsOfFile.pop()) await end();
}

/** Runs a test, and then does what it has asked for. */
export async function runToItsEnd(test: () => Promise<void>): Promise<void> {
  const own: End[] = [];
  await ends.run(own, async () => {
    try {
      await test();
    } finally {
      for (let end = own.pop(); end !== undefined; end = own.pop()) await end();
    }
  });
}

/**
 * Does this when the test that calls this has ended, whatever came of it; what was asked for last comes first. Unlike
 * `onTestFinished` of Vitest, it can tell tests apart that run at the same time.
 */
export function whenTestEnds(end: End): void {
  const own = ends.getStore();
  if (own === undefined) throw new Error('no test is running here');
  own.push(end);
}

/** What is returned is disposed of when the test that calls this has ended. */
export function untilTestEnds<T extends AsyncDisposable>(resource: T): T {
  whenTestEnds(() => resource[Symbol.asyncDispose]());
  return resource;
}
