import { describe, expect, test } from 'vitest';

import { DeadlockError } from '../../src/index.js';
import type { LockSnapshot } from '../../src/index.js';
import { OwnDatabase } from '../support/test-provider.js';
import { rejection } from '../../lab/patience.js';
import { codeBlocks, page } from './pages.js';
import type { CodeBlock } from './pages.js';
import { runExample } from './recipe.js';

const PAGES = [
  'README.md',
  'docs/all-or-nothing.md',
  'docs/mutex.md',
  'docs/reader-writer-lock.md',
  'docs/semaphore.md',
];

/** The examples that consist of statements. Programs and functions have tests of their own. */
const examples = PAGES.flatMap((path) => codeBlocks(page(path), 'ts')).filter(
  ({ code }) => !/^(import|async function)\b/m.test(code),
);

/** What the examples presuppose, on a database of its own. */
class Surroundings extends OwnDatabase {
  readonly #client = this.client();
  readonly #locks = this.#client.provider();
  /** The tokens that the examples have passed to their work. */
  readonly tokens: number[] = [];

  run({ code }: CodeBlock): Promise<void> {
    const work = ({ fencingToken }: { fencingToken: number }): Promise<void> => {
      this.tokens.push(fencingToken);
      return Promise.resolve();
    };
    return runExample(code, {
      client: this.#client.client,
      db: this.#client.db,
      locks: this.#locks,
      console: { log: () => undefined },
      charge: (_number: string, lock: { fencingToken: number }) => work(lock),
      readShelves: () => Promise.resolve(['b', 'a']),
      areShelvesSorted: () => Promise.resolve(false),
      sortShelves: work,
      sendMail: () => Promise.resolve(),
      sendReport: () => Promise.resolve(),
      fetchForecast: (city: string) => Promise.resolve(`sunny in ${city}`),
    });
  }

  async held(): Promise<readonly LockSnapshot[]> {
    const held: LockSnapshot[] = [];
    for await (const snapshot of this.#locks.list({ heldOnly: true })) held.push(snapshot);
    return held;
  }
}

describe('an example that consists of statements', () => {
  test.each(examples.map((example) => ({ path: example.page.path, line: example.line, example })))(
    'at line $line of $path does what it says, and leaves nothing held',
    async ({ example }) => {
      await using surroundings = new Surroundings();
      if (example.code.includes('// DeadlockError')) {
        expect(await rejection(surroundings.run(example))).toBeInstanceOf(DeadlockError);
      } else {
        await surroundings.run(example);
        const worked = /\b(charge|sortShelves)\(/.test(example.code);
        expect(surroundings.tokens).toEqual(worked ? [expect.any(Number)] : []);
      }
      expect(await surroundings.held()).toEqual([]);
    },
  );

  test('is found on each page that should have one', () => {
    expect([...new Set(examples.map((example) => example.page.path))]).toEqual(PAGES);
  });
});
