import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { runInThisContext } from 'node:vm';
import { inspect } from 'node:util';
import type { MongoClient } from 'mongodb';
import ts from 'typescript';
import { expect } from 'vitest';

import * as dashboard from '../../src/dashboard/index.js';
import * as leasehold from '../../src/index.js';
import * as nodeCron from '../../src/node-cron/index.js';
import * as opentelemetry from '../../src/opentelemetry/index.js';
import * as quorum from '../../src/quorum/index.js';
import * as testing from '../../src/testing/index.js';
import type { CodeBlock } from './pages.js';

const requireHere = createRequire(import.meta.url);

/** What the code of a page has printed, and what it has exported. */
export interface MemoryRun {
  readonly printed: string;
  readonly exports: Readonly<Record<string, unknown>>;
}

/** One run of the code of a page on a replica set in memory, with what the pages presuppose. */
export class MemorySurroundings implements AsyncDisposable {
  readonly #sets = new Map<string, testing.MemoryReplicaSet>();
  readonly #client = this.#newClient();
  readonly locks: leasehold.LockProvider = new leasehold.LockProvider(this.#client.db('app'));
  readonly #printed: string[] = [];
  /** The tests that the code has defined, for pages that show a file of tests. */
  readonly #tests: (() => Promise<void>)[] = [];
  readonly #process = Object.assign(new EventEmitter(), { env: {}, pid: 1 });

  /** Runs the block as a module that may await, with these names too, and resolves when it has ended. */
  async run({ code }: CodeBlock, more: Readonly<Record<string, unknown>> = {}): Promise<MemoryRun> {
    const { outputText } = ts.transpileModule(code, {
      compilerOptions: {
        ...{ target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS },
        ...{ esModuleInterop: true, experimentalDecorators: true },
      },
    });
    const given = { ...this.#given(), ...more };
    const exports: Record<string, unknown> = {};
    const names = ['require', 'exports', ...Object.keys(given)];
    const module = runInThisContext(`async (${names.join(', ')}) => { { ${outputText}\n } }`) as (
      ...values: readonly unknown[]
    ) => Promise<void>;
    await module(this.#require, exports, ...Object.values(given));
    for (const test of this.#tests.splice(0)) await test();
    return { printed: this.#printed.join(''), exports };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.locks.close({ drainMs: 0 });
    await Promise.all([...this.#sets.values()].map((set) => set.close()));
  }

  violations(): readonly testing.Violation[] {
    return [...this.#sets.values()].flatMap((set) => set.violations());
  }

  readonly #require = (specifier: string): unknown => {
    const modules: Readonly<Record<string, unknown>> = {
      leasehold,
      'leasehold/dashboard': dashboard,
      'leasehold/node-cron': nodeCron,
      'leasehold/opentelemetry': opentelemetry,
      'leasehold/quorum': quorum,
      'leasehold/testing': testing,
      mongodb: { MongoClient: this.#clientClass() },
      vitest: {
        expect,
        test: (_title: string, test: () => Promise<void>) => {
          this.#tests.push(test);
        },
      },
    };
    return modules[specifier] ?? requireHere(specifier);
  };

  /** The client of one more process. Each address is a replica set of its own. */
  #newClient(uri = ''): MongoClient {
    const set = this.#sets.get(uri) ?? new testing.MemoryReplicaSet({ seed: this.#sets.size + 1 });
    this.#sets.set(uri, set);
    const { client } = set.db('app');
    return Object.assign(Object.create(client) as MongoClient, {
      db: (name = 'app') => client.db(name),
      connect: () => Promise.resolve(client),
      close: () => Promise.resolve(),
    });
  }

  /** What `new MongoClient(uri)` calls. A function that returns an object makes that object under `new`. */
  #clientClass(): (uri: string) => MongoClient {
    const make = (uri: string): MongoClient => this.#newClient(uri);
    return function MongoClient(uri) {
      return make(uri);
    };
  }

  #given(): Readonly<Record<string, unknown>> {
    const work = (): Promise<void> => Promise.resolve();
    return {
      client: this.#client,
      db: this.#client.db('app'),
      locks: this.locks,
      process: this.#process,
      console: Object.fromEntries(['log', 'info', 'warn', 'error'].map((name) => [name, this.#print])),
      ...{ charge: work, sendMail: work, sendReport: work, sortShelves: work, importOrders: work },
      readShelves: () => Promise.resolve(['b', 'a']),
      areShelvesSorted: () => Promise.resolve(false),
      pendingMigrations: () => Promise.resolve([]),
      fetchForecast: (city: string) => Promise.resolve(`sunny in ${city}`),
      fetchProducts: () => Promise.resolve([]),
    };
  }

  readonly #print = (...values: readonly unknown[]): void => {
    const words = values.map((value) => (typeof value === 'string' ? value : inspect(value)));
    this.#printed.push(`${words.join(' ')}\n`);
  };
}
