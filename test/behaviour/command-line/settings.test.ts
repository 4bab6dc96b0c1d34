import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startAuthorizingServer } from '../../../lab/mongo-server/authorizing-server.js';
import type { AuthorizingServer } from '../../../lab/mongo-server/authorizing-server.js';
import {
  call,
  callAlone,
  commandOf,
  Fleet,
  LOCK_CALLS,
  resultOf,
  start,
  useCommandLine,
} from './command-line.js';
import { measuredResultOf, MEASURES_ITSELF } from './connected-time.js';

useCommandLine();

/** Nothing listens on this port. */
const NOBODY = 'mongodb://127.0.0.1:9/app';
const MEASURED_NOBODY = { ...MEASURES_ITSELF, LEASEHOLD_URI: NOBODY };

/** Each command with arguments that are right. */
const CALLS: readonly (readonly string[])[] = [...LOCK_CALLS, ['run', 'x', '-n', '--', 'true'], ['doctor']];

describe.concurrent('wrong usage ends with 64 before anything connects, and prints no data', () => {
  it.each([
    [[], /Usage/],
    [['fly'], /unknown command 'fly'/],
    [['run'], /NAME/],
    [['run', '--', 'true'], /NAME/],
    [['run', 'x', '--'], /no command after --/],
    [['run', 'x', '--', ''], /^leasehold: the command after -- is empty\n$/],
    [['elect', 'x', '--', '', 'a'], /^leasehold: the command after -- is empty\n$/],
    [['run', 'x', 'true'], /too many arguments[^]*The command to run stands after --/],
    [['run', 'x', 'ls', '-l'], /unknown option '-l'\n.*The command to run stands after --/],
    [['elect', 'x', 'make', 'deploy'], /too many arguments[^]*The command to run stands after --/],
    [['run', 'x', '--limit', '2', '--permits', '3', '--', 'true'], /--permits must be at most --limit/],
    [['run', 'x', '--why', 'x'.repeat(1_025), '--', 'true'], /--why must be at most 1024 bytes/],
    [['revoke', 'x', '--why', 'x'.repeat(1_025)], /--why must be at most 1024 bytes/],
    [['elect', 'x', '--value', 'x'.repeat(1_025), '--', 'true'], /--value must be at most 1024 bytes/],
    [['ls', '--collection', 'a$b'], /collectionName must be a legal name/],
    [['run', 'x', '-s', '-x', '--', 'true'], /--exclusive/],
    [['run', 'x', '--permits', '2', '--', 'true'], /--permits needs --limit/],
    [['run', 'x', '--limit', '0', '--', 'true'], /integer from 1/],
    [['run', 'x', '-n', '-w', '1s', '--', 'true'], /--timeout/],
    [['run', 'x', '-w', '10', '--', 'true'], /250ms, 30s, 5m or 2h/],
    [['run', 'x', '--kill-after', '1000h', '--', 'true'], /at most 596h/],
    [['wait', 'x', '-w', '1000h'], /at most 596h/],
    [['run', 'x', '--hold-at-least', '3s'], /--hold-at-least needs a command/],
    [['run', 'x', '-c', 'true', '--', 'true'], /not both/],
    [['run', 'x', '--lease', '1ms', '--', 'true'], /--lease, in ms, must be between/],
    [['elect', 'x', '--lease', '1000h', '--', 'true'], /at most 596h/],
    [['run', 'x', '--on-loss', 'cry', '--', 'true'], /kill, warn/],
    [['run', 'x', '--colour', '--', 'true'], /unknown option '--colour'/],
    ...['run', 'elect', 'show', 'watch', 'wait', 'revoke'].map(
      (command) => [[command, ''], /name must not be empty/] as const,
    ),
    [['resize', '', '3'], /name must not be empty/],
    [['show', 'x'.repeat(1_025)], /at most 1024 bytes/],
    [['help', 'fly'], /^leasehold: unknown command 'fly'\n$/],
    [['help', '--json', 'fly'], /unknown command 'fly'/],
    [['dashboard', '--host', ''], /must not be empty/],
    [['dashboard', '--host', 'fe80::1%eth0'], /zone/],
    [['run', 'x', '--uri', '--', 'true'], /--uri/],
    [['run', 'x', '--', '-x'], /too many arguments/],
    [['run', 'x', '--', '--', 'true'], /too many arguments/],
    [['show', '-x'], /unknown option '-x'\n.*leasehold show -- -x/],
    [['ls', '--shared'], /unknown option/],
    [['resize', 'x', 'many'], /integer/],
    [['elect', 'x', '--observe', '--', 'true'], /--observe runs no command/],
  ] as readonly (readonly [readonly string[], RegExp])[])('%j', async (args, message) => {
    const { code, stdout, stderr } = await call(args, { LEASEHOLD_URI: NOBODY });
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it.each([
    ['LEASEHOLD_HOLD_AT_LEAST', '5s', 'LEASEHOLD_HOLD_AT_LEAST needs a command'],
    ['LEASEHOLD_PERMITS', '2', 'LEASEHOLD_PERMITS needs --limit'],
  ])('%s=%s without what it needs, and the message names the variable', async (variable, value, message) => {
    const { code, stderr } = await call(['run', 'x'], { LEASEHOLD_URI: NOBODY, [variable]: value });
    expect({ code, stderr }).toEqual({ code: 64, stderr: `leasehold: ${message}\n` });
  });

  it('a switch in the environment that is neither on nor off', async () => {
    const { code, stderr } = await call(['ls'], { LEASEHOLD_JSON: 'perhaps' });
    expect(code).toBe(64);
    expect(stderr).toContain('LEASEHOLD_JSON');
  });
});

it.each([
  [['help'], ['--help']],
  [
    ['help', 'run'],
    ['run', '--help'],
  ],
])('%j prints what %j prints', async (asked, same) => {
  const [result, expected] = [await call(asked), await call(same)];
  expect(result).toEqual(expected);
  expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage: leasehold') as string });
});

it('a command after -- outranks the variable of --observe', async () => {
  const fleet = new Fleet();
  const child = fleet.startWith({ LEASEHOLD_OBSERVE: '1' }, 'elect', 'x', '--', 'true');
  expect(await resultOf(child)).toMatchObject({ code: 0, stderr: '' });
});

it('an empty variable is the same as none', async () => {
  const empty = Object.fromEntries(
    ['WHY', 'TIMEOUT', 'LEASE', 'JSON', 'SHARED', 'LIMIT', 'COMMAND'].map((name) => [
      `LEASEHOLD_${name}`,
      '',
    ]),
  );
  const fleet = new Fleet();
  const uri = { LEASEHOLD_URI: '', MONGODB_URI: fleet.database.uri };
  const child = fleet.startWith({ ...empty, ...uri }, 'run', 'x', '--', 'true');
  expect(await resultOf(child)).toMatchObject({ code: 0, stderr: '' });
  expect(await fleet.locks.inspect('x')).toMatchObject({ kind: 'mutex' });
});

describe.concurrent('wrong configuration ends with 78', () => {
  it.each([
    ['no URI', {}, /no server is named/],
    ['no database', { LEASEHOLD_URI: 'mongodb://127.0.0.1:9/' }, /no database is named/],
    ['no legal name of a database', { MONGODB_URI: NOBODY, LEASEHOLD_DB: 'a b' }, /"a b" is no legal name/],
    ['no connection string', { MONGODB_URI: 'http://localhost', LEASEHOLD_DB: 'app' }, /Invalid scheme/],
    ['an unknown option of the driver', { MONGODB_URI: `${NOBODY}?nonsense=1` }, /nonsense/],
  ])('%s', async (_, env, message) => {
    const { code, stderr } = await call(['ls'], env);
    expect(code).toBe(78);
    expect(stderr).toMatch(message);
  });
});

describe('a server that cannot be reached', () => {
  it.concurrent.each(CALLS)('ends `%s %s` with 69 within 20 s', async (...args) => {
    const { code, stderr, connectedMs } = await measuredResultOf(start(args, MEASURED_NOBODY));
    expect([code, stderr]).toEqual([69, expect.stringMatching(/ECONNREFUSED/)]);
    expect(connectedMs).toBeLessThan(20_000);
  });

  it('is named together with its reason, and the password is not', async () => {
    const uri = 'mongodb://user:s3cret@127.0.0.1:9,127.0.0.1:10/app?replicaSet=rs0';
    const { code, stderr } = await call(['run', 'x', '-w', '5s', '--', 'true'], { LEASEHOLD_URI: uri });
    expect(code).toBe(69);
    expect(stderr).toMatch(/127\.0\.0\.1:9: connect ECONNREFUSED.*127\.0\.0\.1:10: connect ECONNREFUSED/);
    expect(stderr).not.toContain('s3cret');
  });

  it('that is in another replica set is named, too', async () => {
    const { database } = new Fleet();
    const { host } = new URL(database.uri);
    const env = { LEASEHOLD_URI: `mongodb://${host}/app?replicaSet=other` };
    const { code, stderr } = await call(['run', 'x', '-w', '5s', '--', 'true'], env);
    expect(code).toBe(69);
    expect(stderr).toContain(`no server of ${host} can be used`);
    expect(stderr).toContain('member of the replica set "other"');
  });

  it('ends `run -w` with 69 when its time is up', async () => {
    const args = ['run', 'x', '-w', '1s', '--', 'true'];
    const { code, connectedMs } = await measuredResultOf(start(args, MEASURED_NOBODY));
    expect(code).toBe(69);
    expect(connectedMs).toBeLessThan(9_000);
  });

  it('ends a command with 69 within 20 s if it accepts connections and says nothing', async () => {
    const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      const env = { ...MEASURES_ITSELF, LEASEHOLD_URI: `mongodb://127.0.0.1:${port}/app` };
      const { connectedMs, ...result } = await measuredResultOf(start(['ls'], env));
      const stderr = expect.stringContaining(`127.0.0.1:${port}`) as string;
      expect(result).toMatchObject({ code: 69, stderr });
      expect(connectedMs).toBeLessThan(20_000);
    } finally {
      server.close();
    }
  });
});

it('needs no package beside the command line, also not the driver', async () => {
  const { code, stderr } = await callAlone(['ls'], { LEASEHOLD_URI: NOBODY });
  expect([code, stderr]).toEqual([69, expect.stringMatching(/ECONNREFUSED/)]);
});

describe.concurrent('a failure that no command expects ends with 70, and is told', () => {
  it('output that cannot be written', async () => {
    const fleet = new Fleet();
    await (await fleet.locks.acquireMutex('x')).release();
    const line = `${commandOf('ls')} > /dev/full`;
    const env = { ...process.env, ...fleet.env };
    const { status, stderr } = spawnSync('/bin/sh', ['-c', line], { env, encoding: 'utf8' });
    expect(status).toBe(70);
    expect(stderr).toMatch(/^leasehold: cannot write to stdout: ENOSPC/);
  });

  it('a `TypeError` that is no fault of the arguments, with its stack', async () => {
    const source = `AbortSignal.any = () => { throw new TypeError('unexpected'); };`;
    const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(source)}` };
    const { code, stderr } = await resultOf(new Fleet().startWith(env, 'wait', 'x', '-w', '1s'));
    expect(code).toBe(70);
    expect(stderr).toMatch(/^leasehold: TypeError: unexpected\n +at /);
  });

  it('an error that nothing catches', async () => {
    const source = `process.on('newListener', (name) => {
      if (name === 'uncaughtException') setTimeout(() => { throw new Error('unexpected'); });
    });`;
    const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(source)}` };
    const { code, stderr } = await resultOf(new Fleet().startWith(env, 'watch', 'x'));
    expect(code).toBe(70);
    expect(stderr).toMatch(/^leasehold: Error: unexpected/);
  });
});

describe('the password of the URI is never printed', () => {
  it.each([
    'mongodb://user:s%40cret-word@127.0.0.1:9/app?nonsense=1',
    'mongodb://user:s@cret-word@127.0.0.1:9/app',
    'http://user:s@cret-word@127.0.0.1:9/app',
    'mongodb://user:s@cret/word@127.0.0.1:port/app',
    'mongodb://127.0.0.1:9/app?authMechanismProperties=AWS_SESSION_TOKEN:s@cret-word&nonsense=1',
  ])('%s', async (uri) => {
    const { code, stdout, stderr } = await call(['ls'], { LEASEHOLD_URI: uri });
    expect([69, 78]).toContain(code);
    expect(stderr.length).toBeGreaterThan(20);
    expect(stdout + stderr).not.toMatch(/cret/);
  });
});

it('a password that is an ordinary word is hidden in connection strings only', async () => {
  const { code, stderr } = await call(['ls'], { LEASEHOLD_URI: 'mongodb://user:database@127.0.0.1:9/' });
  expect({ code, stderr }).toEqual({
    code: 78,
    stderr: 'leasehold: no database is named: give --db, or name it in the URI\n',
  });
});

it('the password of a URI in the wrong place of the command line is not printed', async () => {
  const { code, stdout, stderr } = await call(['ls', 'x', 'mongodb://user:s3cret@127.0.0.1:9/app']);
  expect(code).toBe(64);
  expect(stdout + stderr).not.toContain('s3cret');
});

describe('a user who may not', () => {
  let server: AuthorizingServer;
  beforeAll(async () => {
    server = await startAuthorizingServer();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  it('write ends `run` with 77', async () => {
    const privileges = [{ resource: { db: 'app', collection: 'distributed.locks' }, actions: ['find'] }];
    const uri = await server.uriOfUser('reader', privileges);
    const env = { LEASEHOLD_URI: uri, LEASEHOLD_DB: 'app' };
    const { code, stderr } = await call(['run', 'x', '-n', '--', 'true'], env);
    expect(code).toBe(77);
    expect(stderr).toMatch(/not authorized/);
    expect((await call(['ls'], env)).code).toBe(0);
  });

  it('connect, because of a wrong password, ends with 77', async () => {
    const uri = server.rootUri.replace(/:[^:@/]+@/, ':wrong-word@');
    const { code, stderr } = await call(['ls'], { LEASEHOLD_URI: uri, LEASEHOLD_DB: 'app' });
    expect(code).toBe(77);
    expect(stderr).toMatch(/[Aa]uthentication failed/);
    expect(stderr).not.toContain('wrong-word');
  });
});
