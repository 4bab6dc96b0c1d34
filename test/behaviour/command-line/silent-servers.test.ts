import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startAuthorizingServer } from '../../../lab/mongo-server/authorizing-server.js';
import type { AuthorizingServer } from '../../../lab/mongo-server/authorizing-server.js';
import { eventually } from '../../../lab/patience.js';
import { EventReader } from '../dashboard/event-reader.js';
import { untilTestEnds } from '../../support/current-test.js';
import { useOwnServer } from '../../support/test-provider.js';
import {
  call,
  Fleet,
  InTerminal,
  inTerminalWith,
  LOCK_CALLS,
  resultOf,
  start,
  untilPrinted,
  useCommandLine,
} from './command-line.js';
import { measuredResultOf, measuredScreenOf, MEASURES_ITSELF } from './connected-time.js';

useCommandLine();
useOwnServer();

/** What the library sends about locks. */
const ALL = ['find', 'aggregate', 'update', 'insert', 'findAndModify', 'getMore'];

const hanging = (blockTimeMS: number) => ({ failCommands: ALL, blockConnection: true, blockTimeMS }) as const;

describe('a server that connects and answers no command', () => {
  it('ends each command that has no time of its own with 69 within 20 s', async () => {
    const fleet = new Fleet();
    const env = {
      ...MEASURES_ITSELF,
      ...(await fleet.failing({ ...hanging(22_000), failCommands: [...ALL] })),
    };
    const children = LOCK_CALLS.map((args) => fleet.startWith(env, ...args));
    const results = await Promise.all(children.map(measuredResultOf));
    for (const [at, { connectedMs, ...result }] of results.entries()) {
      const stderr: unknown = expect.stringMatching(/no answer|did not answer/);
      expect([LOCK_CALLS[at], result]).toEqual([
        LOCK_CALLS[at],
        { code: 69, signal: null, stdout: '', stderr },
      ]);
      expect(connectedMs).toBeLessThan(20_000);
    }
  });

  it('ends top in a terminal with 69 within 20 s, and the screen is given back before the error', async () => {
    const fleet = new Fleet();
    const env = await fleet.failing({ ...hanging(22_000), failCommands: [...ALL] });
    const terminal = inTerminalWith(fleet, { ...MEASURES_ITSELF, ...env }, 'top');
    const { code, screen, connectedMs } = await measuredScreenOf(terminal);
    expect(code).toBe(69);
    expect(screen).toMatch(/\[\?1049lleasehold: .*(no answer|did not answer)/);
    expect(connectedMs).toBeLessThan(20_000);
  });

  it('is told to whoever ends a wait, with the time that the end takes at most', async () => {
    const fleet = new Fleet();
    untilTestEnds(await fleet.locks.acquireMutex('x'));
    const [env, fail] = fleet.failingLater({ ...hanging(8_000), failCommands: [...ALL] });
    const child = fleet.startWith(env, 'run', 'x', '--', 'true');
    await fleet.untilQueued('x');
    await fail();
    child.signal('SIGINT');
    await eventually('it says so', () => child.stderr.includes('at most 6 s'));
    expect(await resultOf(child)).toMatchObject({ code: 130 });
  });
});

describe('a signal in the middle of a read', () => {
  it.each([
    [['ls'], { code: null, signal: 'SIGINT' }],
    [['top'], { code: 130, signal: null }],
    [['watch', 'x'], { code: 130, signal: null }],
    [['wait', 'x'], { code: 130, signal: null }],
    [['dashboard'], { code: 130, signal: null }],
  ] as const)('%s ends without a wait for the read', async (command, end) => {
    const fleet = new Fleet();
    await (await fleet.locks.acquireMutex('x')).release();
    const admin = fleet.database.plain.client.db('admin');
    const { count } = await admin.command({ configureFailPoint: 'failCommand', mode: 'off' });
    const env = await fleet.failing({ ...hanging(10_000), failCommands: [...ALL] });
    const child = fleet.startWith(env, ...command);
    // The server has been asked. `$currentOp` shows no namespace of a command that a fail point blocks.
    const timesEntered = (count as number) + 1;
    await admin.command({ waitForFailPoint: 'failCommand', timesEntered, maxTimeMS: 60_000 });
    child.signal('SIGINT');
    // A command that waits for the read ends by its failure, or prints what it has read.
    expect(await resultOf(child)).toMatchObject({ ...end, stdout: '', stderr: '' });
  });
});

describe('a healthy server that is slow', () => {
  const slow = { failCommands: ['hello', 'ping', 'update'], blockConnection: true, blockTimeMS: 150 };

  it('is asked for at least a second, though connecting took the time of -w: a busy lock is 75', async () => {
    const fleet = new Fleet();
    untilTestEnds(await fleet.locks.acquireMutex('x', { why: 'the test' }));
    const env = await fleet.failing(slow);
    const { code, stderr } = await resultOf(fleet.startWith(env, 'run', 'x', '-w', '100ms', '--', 'true'));
    // On a slow machine, the answer may come at the end of that second. The time is then that of the request.
    expect(stderr).toMatch(/"x" was not granted within (100ms|\d\.\d s); held by .*the test/);
    expect(code).toBe(75);
  });
});

describe('a user without privileges', () => {
  let server: AuthorizingServer;
  beforeAll(async () => {
    server = await startAuthorizingServer();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  it.each(['run x -- true', 'elect x -- true', 'elect x --observe', 'ls', 'top', 'watch x'])(
    '%s ends with 77',
    async (line) => {
      const args = line.split(' ');
      const uri = await server.uriOfUser(`nobody-${args.join('-')}`, []);
      const { code, stderr } = await call(args, { LEASEHOLD_URI: uri, LEASEHOLD_DB: 'app' });
      expect(code).toBe(77);
      expect(stderr).toMatch(/not authorized/);
    },
  );

  it('top in a terminal ends with 77', async () => {
    const uri = await server.uriOfUser('nobody-in-a-terminal', []);
    await using terminal = new InTerminal(['top'], { LEASEHOLD_URI: uri, LEASEHOLD_DB: 'app' });
    expect(await terminal.exitCode()).toBe(77);
    expect(terminal.stdout).toMatch(/\[\?1049lleasehold: .*not authorized/);
  });

  it('gets the page of the dashboard, which says that it is unavailable', async () => {
    const uri = await server.uriOfUser('nobody-with-a-page', []);
    const child = start(['dashboard'], { LEASEHOLD_URI: uri, LEASEHOLD_DB: 'app' });
    const url = (await untilPrinted(child, '\n')).trim();
    const viewer = untilTestEnds(new EventReader(await fetch(`${url}events`)));
    await viewer.until('it says so', ({ last }) => last?.state === 'unavailable');
    await eventually('the reason is said', () => child.stderr.includes('not authorized'));
    child.signal('SIGTERM');
    expect((await resultOf(child)).code).toBe(0);
  });

  it('whose privileges are revoked while top is shown in a terminal ends it with 77', async () => {
    const privileges = [{ resource: { db: 'app', collection: 'distributed.locks' }, actions: ['find'] }];
    const uri = await server.uriOfUser('reader', privileges);
    const env = { LEASEHOLD_URI: uri, LEASEHOLD_DB: 'app' };
    await using terminal = new InTerminal(['top', '--every', '200ms'], env);
    await untilPrinted(terminal, '0 locks');
    await server.revokeAll('reader');
    expect(await terminal.exitCode()).toBe(77);
    expect(terminal.stdout).toMatch(/\[\?1049lleasehold: .*not authorized/);
  });
});
