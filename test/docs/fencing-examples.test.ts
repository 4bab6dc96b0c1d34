import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { fencedTransaction, fencedUpdateOne } from '../../src/index.js';
import { OwnDatabase } from '../support/test-provider.js';
import { rejection } from '../../lab/patience.js';
import { codeBlocks, page } from './pages.js';
import { runProgram } from './program.js';
import { recipe, runExample } from './recipe.js';

const PAGE = 'docs/fencing.md';

function example(containing: string): string {
  const found = codeBlocks(page(PAGE), 'ts').find(({ code }) => code.includes(containing));
  if (found === undefined) throw new Error(`${PAGE} has no example with ${containing}`);
  return found.code;
}

/** What the examples presuppose, on a database of its own. */
class Surroundings extends OwnDatabase {
  readonly #client = this.client();
  readonly #locks = this.#client.provider();

  /** Runs a short example, with its imports as given names. */
  async run(containing: string): Promise<void> {
    await runExample(example(containing).replace(/^import .* from 'leasehold';$/m, ''), {
      client: this.#client.client,
      db: this.#client.db,
      locks: this.#locks,
      charge: () => Promise.resolve(),
      fencedTransaction,
      fencedUpdateOne,
    });
  }

  async stored(collection: string): Promise<readonly unknown[]> {
    return await this.plain.db.collection(collection).find().toArray();
  }
}

const token = expect.any(Number) as unknown;

describe('the examples of docs/fencing.md', () => {
  test('include a program that refuses the stale writer, runs unchanged, and ends', async () => {
    await using database = new OwnDatabase();
    const { stdout, stderr } = await runProgram(example('new LockProvider'), database);
    // Nothing but the warning that the first hold was lost, for which the program has no listener.
    expect(stderr).toMatch(
      /^\(node:\d+\) \[LEASEHOLD_LOST\] [^\n]* was lost \(revoked\) [^\n]*\n\(Use [^\n]*\)\n$/,
    );
    const [, refused = 0, newer = 0] =
      /^refused: token (\d+), because (\d+) has been here\n5 pieces left\n$/.exec(stdout) ?? [];
    expect(Number(newer)).toBeGreaterThan(Number(refused));
    expect(Number(refused)).toBeGreaterThan(0);
  });

  test('store the token with a new document', async () => {
    await using surroundings = new Surroundings();
    await surroundings.run(`db.collection<Invoice>('invoices')`);
    expect(await surroundings.stored('invoices')).toEqual([{ _id: '42', paid: true, fencingToken: token }]);
  });

  test('claim before they read', async () => {
    await using surroundings = new Surroundings();
    await surroundings.run(`locks.useMutex('stock:lamp'`);
    expect(await surroundings.stored('stock')).toEqual([{ _id: 'lamp', pieces: 7, fencingToken: token }]);
  });

  test('write the fence and the sum of many documents in one transaction', async () => {
    await using surroundings = new Surroundings();
    await surroundings.plain.db.collection('cities').insertMany([{ people: 3 }, { people: 4 }]);
    await surroundings.run('await fencedTransaction(');
    expect(await surroundings.stored('totals')).toEqual([{ _id: 'all', people: 7 }]);
    expect(await surroundings.stored('distributed.fences')).toMatchObject([
      { _id: 'census', token, claims: 1 },
    ]);
  });
});

type PutFenced = (url: string, body: string, lock: { fencingToken: number }) => Promise<void>;

/** A store of one object that knows `ETag`, `If-Match` and `If-None-Match`. */
class ObjectStore {
  body: string | undefined;
  token: string | undefined;
  version = 0;
  /** Called once before the next write is judged, as if another write came in between. */
  between: (() => void) | undefined;
  #server: Server | undefined;

  async open(): Promise<string> {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.writeHead(500).end());
    });
    const listening = this.#server.listen(0, '127.0.0.1');
    await new Promise((resolve) => listening.once('listening', resolve));
    return `http://127.0.0.1:${(listening.address() as AddressInfo).port}/object`;
  }

  close(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
  }

  put(body: string, fencingToken: string | undefined): void {
    this.body = body;
    this.token = fencingToken;
    this.version += 1;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'HEAD') {
      const stored = this.token === undefined ? {} : { 'x-amz-meta-fencing-token': this.token };
      response.writeHead(this.body === undefined ? 404 : 200, { etag: `"${this.version}"`, ...stored }).end();
      return;
    }
    let body = '';
    for await (const chunk of request) body += String(chunk);
    this.between?.();
    this.between = undefined;
    const { 'if-match': match, 'if-none-match': none } = request.headers;
    const isMet = none === '*' ? this.body === undefined : match === `"${this.version}"`;
    if (isMet) this.put(body, request.headers['x-amz-meta-fencing-token'] as string);
    response.writeHead(isMet ? 200 : 412).end();
  }
}

describe('the recipe for an object store', () => {
  const putFenced = recipe(PAGE, 'putFenced', { fetch }) as PutFenced;
  const store = new ObjectStore();
  let url: string;

  beforeAll(async () => {
    url = await store.open();
  });

  afterAll(() => {
    store.close();
  });

  test('creates, replaces, and refuses an older token', async () => {
    await putFenced(url, 'by 7', { fencingToken: 7 });
    await putFenced(url, 'by 8', { fencingToken: 8 });
    await putFenced(url, 'by 8 again', { fencingToken: 8 });
    expect(await rejection(putFenced(url, 'by 7', { fencingToken: 7 }))).toMatchObject({
      message: expect.stringMatching(/newer holder has written, 8/) as unknown,
    });
    expect([store.body, store.token]).toEqual(['by 8 again', '8']);
  });

  test('reads again if another write comes between its read and its write', async () => {
    store.between = () => {
      store.put('by 9', '9');
    };
    await putFenced(url, 'by 10', { fencingToken: 10 });
    expect([store.body, store.token]).toEqual(['by 10', '10']);
    store.between = () => {
      store.put('by 12', '12');
    };
    expect(await rejection(putFenced(url, 'by 11', { fencingToken: 11 }))).toBeInstanceOf(Error);
    expect([store.body, store.token]).toEqual(['by 12', '12']);
  });
});
