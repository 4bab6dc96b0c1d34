import { afterAll, beforeAll } from 'vitest';

import { buildProgram } from '../../lab/processes/program.js';
import type { BuiltProgram } from '../../lab/processes/program.js';

/** A program that is built before the tests of the file begin, and removed after them. */
export function useProgram(source: URL): { readonly path: string } {
  let built: BuiltProgram | undefined;
  beforeAll(async () => {
    built = await buildProgram(source);
  });
  afterAll(async () => {
    await built?.[Symbol.asyncDispose]();
  });
  return {
    get path() {
      if (built === undefined) throw new Error('the program has not been built');
      return built.path;
    },
  };
}
