import driver from 'mongodb/package.json' with { type: 'json' };
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { startAuthorizingServer } from '../../../lab/mongo-server/authorizing-server.js';
import type { AuthorizingServer } from '../../../lab/mongo-server/authorizing-server.js';
import { startStandalone } from '../../../lab/mongo-server/start.js';
import { eventually } from '../../../lab/patience.js';
import { uriOf } from '../../../src/cli/connection.js';
import type { Session } from '../../../src/cli/connection.js';
import { checkTopology } from '../../../src/cli/doctor-checks.js';
import { StoredLocks } from '../../../src/cli/doctor-locks.js';
import { keepHold } from '../../support/keep-hold.js';
import { randomName, useOwnServer } from '../../support/test-provider.js';
import { printedPrivileges } from '../../support/printed-privileges.js';
import { call, callAlone, Fleet, resultOf, useCommandLine } from './command-line.js';
import type { Result } from './command-line.js';
import { measuredResultOf, MEASURES_ITSELF } from './connected-time.js';
import { rowsOf } from './doctor-rows.js';

useCommandLine();
useOwnServer();

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
      'documents',
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

  it('names the version of the driver inside, where no driver is installed', async () => {
    const rows = rowsOf(await callAlone(['doctor', '--json'], new Fleet().env));
    const detail = expect.stringContaining(`mongodb ${driver.version},`) as string;
    expect(rows.get('driver')).toMatchObject({ status: 'ok', detail });
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

  it('fails if the server demands a user and the URI names none', async () => {
    const uri = server.rootUri.replace(/\/\/.*@/, '//').replace(/&authSource=\w+/, '');
    const result = await call(['doctor', '--json'], { LEASEHOLD_URI: uri, LEASEHOLD_DB: 'app' });
    expect(rowsOf(result).get('privileges')).toMatchObject({
      status: 'fail',
      detail: 'the server demands a user and the URI names none',
    });
  });

  it('takes the action anyAction for all actions', async () => {
    const privileges = [{ resource: { anyResource: true }, actions: ['anyAction'] }];
    const uri = await server.uriOfUser('mighty', privileges);
    const result = await call(['doctor', '--json'], { LEASEHOLD_URI: uri, LEASEHOLD_DB: 'app' });
    expect(rowsOf(result).get('privileges')).toMatchObject({ status: 'ok' });
  });

  it('counts the members of priority 0', async () => {
    const hello = { setName: 'rs0', hosts: ['a:1', 'b:1'], passives: ['c:1'] };
    const session = { db: { admin: () => ({ command: () => Promise.resolve(hello) }) } };
    expect(await checkTopology(session as unknown as Session)).toMatchObject({
      status: 'ok',
      detail: 'replica set rs0, at least 3 data-bearing members',
    });
  });

  it('connects to one member by a URI without the options of +srv', () => {
    const options = '?srvMaxHosts=3&tls=true&srvServiceName=mongo';
    expect(uriOf(`mongodb+srv://u:p@cluster.test/app${options}`, 'a:1')).toBe(
      'mongodb://u:p@a:1/app?tls=true&',
    );
  });

  it('warns of a pool without room for a change stream', async () => {
    const fleet = new Fleet();
    const uri = fleet.database.uri.replace('/?', '/?maxPoolSize=1&');
    const rows = rowsOf(await fleet.call('doctor', '--json', '--uri', uri));
    expect(rows.get('pool')).toMatchObject({ status: 'warn' });
  });

  it('finds no failure for the role of docs/operations.md, also when a lock is stored', async () => {
    const db = randomName('leasehold-test');
    const uri = await server.uriOfUser(randomName('user'), printedPrivileges(db));
    const env = { LEASEHOLD_URI: uri, LEASEHOLD_DB: db };
    expect(await call(['run', 'x', '--', 'true'], env)).toMatchObject({ code: 0 });
    const result = await call(['doctor', '--json'], env);
    expect([...rowsOf(result).values()].filter(({ status }) => status === 'fail')).toEqual([]);
    expect(rowsOf(result).get('index')?.detail).toMatch(/^not looked at/);
    expect(result.code).toBe(0);
  });

  it('counts and names corrupt documents, and says what to do', async () => {
    const fleet = new Fleet();
    await (await fleet.locks.acquireMutex('sound')).release();
    const documents = fleet.database.plain.db.collection<{ _id: string; v: number }>('distributed.locks');
    await documents.insertMany(['a', 'b'].map((_id) => ({ _id, v: 99 })));
    const result = await fleet.call('doctor', '--json');
    expect(result).toMatchObject({ code: 1, stderr: '' });
    expect(rowsOf(result).get('documents')).toEqual({
      check: 'documents',
      status: 'fail',
      detail: '2 of 3 documents are corrupt, and nobody can acquire these locks: "a", "b"',
      advice: expect.stringContaining('delete the document') as string,
    });
  });

  it('reads the stored locks once, for both checks of them', async () => {
    const { locks } = new Fleet();
    await keepHold(locks.acquireMutex('x'));
    const list = vi.spyOn(locks, 'list');
    const checks = new StoredLocks();
    const session = { locks } as unknown as Session;
    const { signal } = new AbortController();
    expect((await checks.checkDocuments(session, signal)).detail).toBe('no corrupt document among 1');
    expect((await checks.checkKeptSeats(session, signal)).detail).toMatch(/^1 seat is taken/);
    expect(list).toHaveBeenCalledTimes(1);
  });

  it('does not count the seats if the stored locks could not be read', async () => {
    const { locks } = new Fleet();
    const failure = new Error('no answer');
    vi.spyOn(locks, 'list').mockImplementation(async function* () {
      yield* await Promise.reject<never[]>(failure);
    });
    const checks = new StoredLocks();
    const session = { locks } as unknown as Session;
    const { signal } = new AbortController();
    await expect(checks.checkDocuments(session, signal)).rejects.toBe(failure);
    expect(await checks.checkKeptSeats(session, signal)).toMatchObject({
      status: 'warn',
      detail: 'not run: the locks could not be read',
    });
  });

  it('measures a majority write although other doctors hold their locks', async () => {
    const fleet = new Fleet();
    const others = ['leasehold:doctor', 'leasehold:doctor:2'];
    for (const name of others) await keepHold(fleet.locks.acquireMutex(name));
    const rows = rowsOf(await fleet.call('doctor', '--json'));
    expect(rows.get('majority write')?.detail).toMatch(/for acquiring and releasing a lock/);
  });
});

describe('leasehold doctor on a server that does not answer', () => {
  /** Longer than a check waits. A test ends only when the commands that wait have ended. */
  const hanging = { blockConnection: true, blockTimeMS: 12_000 } as const;

  /** What the checks send after the topology. */
  const AFTER_TOPOLOGY = [
    ...[
      'aggregate',
      'connectionStatus',
      'listCollections',
      'listIndexes',
      'find',
      'ping',
      'update',
      'findAndModify',
    ],
  ];

  it('any command ends with 69 within 20 s', async () => {
    const fleet = new Fleet();
    const env = await fleet.failing({ failCommands: ['buildInfo'], ...hanging });
    const child = fleet.startWith({ ...MEASURES_ITSELF, ...env }, 'doctor');
    const { code, stdout, stderr, connectedMs } = await measuredResultOf(child);
    expect({ code, stdout }).toEqual({ code: 69, stdout: '' });
    expect(stderr).toMatch(/no answer within 5 s/);
    expect(connectedMs).toBeLessThan(20_000);
  });

  it('one command fails its check after 5 s, and goes on', async () => {
    const fleet = new Fleet();
    const env = await fleet.failing({ failCommands: ['aggregate'], ...hanging });
    const rows = rowsOf(await resultOf(fleet.startWith(env, 'doctor', '--json')));
    expect(rows.get('change streams')).toMatchObject({
      status: 'fail',
      detail: 'the check got no answer within 5 s',
      advice: expect.stringMatching(/Find out/) as string,
    });
    expect(rows.get('round trip')).toMatchObject({ detail: expect.stringMatching(/median/) as string });
  });

  it('every command after that of the topology: one check fails, and those after it are not run', async () => {
    const fleet = new Fleet();
    const env = await fleet.failing({ failCommands: AFTER_TOPOLOGY, ...hanging });
    const result = await measuredResultOf(
      fleet.startWith({ ...MEASURES_ITSELF, ...env }, 'doctor', '--json'),
    );
    expect(result.code).toBe(1);
    expect(result.connectedMs).toBeLessThan(20_000);
    const rows = [...rowsOf(result).values()];
    const failed = rows.filter(({ status }) => status === 'fail');
    expect(failed.map(({ check }) => check)).toEqual(['change streams']);
    const notRun = rows.filter(({ detail }) => detail.startsWith('not run: '));
    expect(notRun.map(({ check, status }) => [check, status])).toEqual(
      [
        'privileges',
        'index',
        'documents',
        'clocks',
        'round trip',
        'majority write',
        'streams open',
        'kept seats',
      ].map((check) => [check, 'warn']),
    );
    expect(notRun[0]?.detail).toContain('"change streams"');
    expect(rows.filter(({ status }) => status === 'ok').map(({ check }) => check)).toEqual(
      expect.arrayContaining(['server', 'driver', 'pool']),
    );
  });

  it('gives its lock back at a signal', async () => {
    const fleet = new Fleet();
    const slow = { failCommands: ['update', 'findAndModify'], blockConnection: true, blockTimeMS: 1_000 };
    const env = await fleet.failing(slow);
    const child = fleet.startWith(env, 'doctor');
    await eventually('it holds a lock', async (see) => {
      return see(await fleet.locks.inspect('leasehold:doctor'))?.holders.length === 1;
    });
    child.signal('SIGINT');
    expect(await resultOf(child)).toMatchObject({ code: 130 });
    expect((await fleet.locks.inspect('leasehold:doctor'))?.holders).toEqual([]);
  });
});
