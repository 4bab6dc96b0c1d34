import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startAuthorizingServer } from '../../../lab/mongo-server/authorizing-server.js';
import type { AuthorizingServer } from '../../../lab/mongo-server/authorizing-server.js';
import { startStandalone } from '../../../lab/mongo-server/start.js';
import { call, Fleet, useCommandLine } from './command-line.js';
import type { Result } from './command-line.js';

useCommandLine();

interface Row {
  readonly check: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  readonly advice: string;
}

const rowsOf = ({ stdout }: Result): ReadonlyMap<string, Row> =>
  new Map(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Row)
      .map((row) => [row.check, row]),
  );

describe('leasehold doctor', () => {
  let server: AuthorizingServer;
  beforeAll(async () => {
    server = await startAuthorizingServer();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  it('finds no failure on a replica set, and gives advice for each warning', async () => {
    const fleet = new Fleet();
    const result = await fleet.call('doctor', '--json');
    expect(result.code).toBe(0);
    const rows = [...rowsOf(result).values()];
    expect(rows.map(({ check }) => check)).toEqual([
      'server',
      'driver',
      'replica set',
      'change streams',
      'privileges',
      'index',
      'pool',
      'clocks',
      'round trip',
      'majority write',
      'streams open',
      'kept seats',
    ]);
    expect(rows.filter(({ status }) => status === 'fail')).toEqual([]);
    expect(rows.filter(({ status, advice }) => (status === 'ok') !== (advice === ''))).toEqual([]);
    expect((await fleet.call('doctor')).stdout).toMatch(/^ok {3}server: MongoDB \d/);
  });

  it('fails on a standalone server, and says how to make it a replica set', async () => {
    await using standalone = await startStandalone({ say: () => undefined });
    const result = await call(['doctor', '--json'], { LEASEHOLD_URI: standalone.uri, LEASEHOLD_DB: 'app' });
    expect(result.code).toBe(1);
    expect(rowsOf(result).get('replica set')).toMatchObject({
      status: 'fail',
      advice: expect.stringContaining('--replSet') as string,
    });
    expect(rowsOf(result).get('change streams')).toMatchObject({ status: 'warn' });
  });

  it('names the privileges that are missing', async () => {
    const resource = { db: 'app', collection: 'distributed.locks' };
    const asks = async (actions: readonly string[]): Promise<Result> => {
      const uri = await server.uriOfUser(`user-${actions.length}`, [{ resource, actions }]);
      return await call(['doctor', '--json'], { LEASEHOLD_URI: uri, LEASEHOLD_DB: 'app' });
    };
    const weak = await asks(['find', 'changeStream']);
    expect(weak.code).toBe(1);
    const { status, detail } = rowsOf(weak).get('privileges') ?? {};
    expect({ status, detail }).toEqual({
      status: 'fail',
      detail: 'insert, update missing on app.distributed.locks: no lock can be acquired',
    });
    const polling = rowsOf(await asks(['find', 'insert', 'update'])).get('privileges');
    expect(polling).toMatchObject({
      status: 'warn',
      advice: expect.stringContaining('changeStream') as string,
    });
  });

  it('warns of a pool without room for a change stream', async () => {
    const fleet = new Fleet();
    const uri = fleet.database.uri.replace('/?', '/?maxPoolSize=1&');
    const rows = rowsOf(await fleet.call('doctor', '--json', '--uri', uri));
    expect(rows.get('pool')).toMatchObject({ status: 'warn' });
  });
});
