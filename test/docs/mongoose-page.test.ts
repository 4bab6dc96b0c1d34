import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import mongoose from 'mongoose';
import { expect, test } from 'vitest';

import { fencedTransaction, LockProvider } from '../../src/index.js';
import { runToEnd } from '../../lab/processes/child.js';
import { cacheFolder, fromSources } from '../../lab/processes/program.js';
import { OwnDatabase } from '../support/test-provider.js';
import { allBlocks, codeBlocks, page } from './pages.js';
import { recipe } from './recipe.js';

const PAGE = 'docs/using-with/mongoose.md';

/** The address of this database, for programs that use the database of their address. */
function uriOf({ uri, name }: OwnDatabase): string {
  const address = new URL(uri);
  address.pathname = name;
  return address.href;
}

test('the first program of docs/using-with/mongoose.md prints what the page shows', async () => {
  await using database = new OwnDatabase();
  await using folder = await cacheFolder('mongoose');
  const file = join(folder.path, 'program.mts');
  const [program] = codeBlocks(page(PAGE), 'ts');
  await writeFile(file, program?.code ?? '');
  const { stdout, stderr } = await runToEnd(fromSources(file), { env: { MONGODB_URI: uriOf(database) } });
  expect(stderr).toBe('');
  expect(stdout).toBe(allBlocks(page(PAGE)).find(({ info }) => info === 'output')?.code);
});

test('the fenced transaction of docs/using-with/mongoose.md writes by a model', async () => {
  await using database = new OwnDatabase();
  await mongoose.connect(uriOf(database));
  await using locks = new LockProvider(mongoose.connection.getClient().db());
  const accounts = mongoose.connection
    .getClient()
    .db()
    .collection<{ _id: string; cents: number }>('accounts');
  await accounts.insertOne({ _id: 'ann', cents: 1 });
  type Deposit = (provider: LockProvider, account: string, cents: number) => Promise<void>;
  const modules = { leasehold: { fencedTransaction } };
  const deposit = recipe(PAGE, 'deposit', {}, modules) as Deposit;
  await Promise.all([deposit(locks, 'ann', 10), deposit(locks, 'ann', 100)]);
  expect(await accounts.findOne({ _id: 'ann' })).toMatchObject({ cents: 111 });
  await locks.close();
  await mongoose.disconnect();
});
