import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startFaultProxy } from '../../../lab/cluster/fault-proxy.js';
import { startReplicaSet } from '../../../lab/mongo-server/start.js';
import type { MongoServer } from '../../../lab/mongo-server/start.js';
import { eventually, pause } from '../../../lab/patience.js';
import type { Child } from '../../../lab/processes/child.js';
import { standStill } from '../../../lab/processes/stand-still.js';
import { ELECTION_END_MS } from '../../../src/cli/ending.js';
import { LockProvider } from '../../../src/index.js';
import { whenTestEnds } from '../../support/current-test.js';
import { keepHold } from '../../support/keep-hold.js';
import { randomName } from '../../support/test-provider.js';
import { InTerminal, LIVES, node, resultOf, start, untilPrinted, useCommandLine } from './command-line.js';

useCommandLine();

let server: MongoServer;
beforeAll(async () => {
  server = await startReplicaSet({ say: () => undefined });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

interface Place {
  readonly env: Readonly<Record<string, string>>;
  readonly locks: LockProvider;
  readonly begin: (...args: readonly string[]) => Child<string>;
  /** From when this resolves until the test ends, the server keeps its connections and answers nothing. */
  readonly freeze: () => Promise<unknown>;
  /** The server goes on. */
  readonly thaw: () => void;
}

async function place(): Promise<Place> {
  const name = randomName('frozen');
  const client = await new MongoClient(server.uri).connect();
  const locks = new LockProvider(client.db(name)).on('storeError', () => undefined);
  whenTestEnds(async () => {
    thaw();
    await locks.close({ drainMs: 0 });
    await client.db(name).dropDatabase();
    await client.close();
  });
  const freeze = (): Promise<unknown> => Promise.all(server.members.map(({ pid }) => standStill(pid)));
  const thaw = (): void => {
    for (const { pid } of server.members) process.kill(pid, 'SIGCONT');
  };
  const env = { LEASEHOLD_URI: server.uri, LEASEHOLD_DB: name };
  return {
    env,
    locks,
    begin: (...args) => start(args, env),
    freeze,
    thaw,
  };
}

const untilSaid = (child: Child<string>, text: string): Promise<unknown> =>
  eventually(`it says ${text}`, (see) => see(child.stderr).includes(text));

describe('a signal to a holder on a server that has stopped answering', () => {
  it.each([
    ['run', ['run', 'x', ...node(LIVES)], 'lock "x"', 130],
    ['run without a command', ['run', 'x'], 'lock "x"', 0],
    ['elect', ['elect', 'x', ...node(LIVES)], 'the term of election "x"', 130],
  ] as const)('%s says how long it takes at most, and what ends the lease', async (_, args, what, code) => {
    const { begin, freeze } = await place();
    const child = begin(...args);
    await untilPrinted(child, '\n');
    await freeze();
    child.signal('SIGINT');
    await untilSaid(child, `giving back ${what} takes at most 6 s; another signal ends this at once`);
    expect(await resultOf(child)).toMatchObject({ code });
    expect(child.stderr).toContain(`${what} may not have been given back; it ends by itself within 30.0s`);
  });

  it('a second signal ends it at once, with the exit code of that signal', async () => {
    const { begin, freeze } = await place();
    const child = begin('run', 'x', ...node(LIVES));
    await untilPrinted(child, 'up');
    await freeze();
    child.signal('SIGINT');
    await untilSaid(child, 'another signal ends this at once');
    child.signal('SIGTERM');
    const { code, stderr } = await resultOf(child);
    expect(code).toBe(143);
    expect(stderr).toContain('lock "x" may not have been given back; it ends by itself within 30.0s');
  });

  it('does the same to a request that waits', async () => {
    const { begin, freeze, locks } = await place();
    await keepHold(locks.acquireMutex('x'));
    const child = begin('run', 'x', '--', 'true');
    await eventually('it waits', async (see) => see(await locks.inspect('x'))?.waiters.length === 1);
    await freeze();
    child.signal('SIGINT');
    await untilSaid(child, 'giving back the place in the queue of lock "x" takes at most 6 s');
    child.signal('SIGHUP');
    expect((await resultOf(child)).code).toBe(129);
  });
});

describe('a term that is lost on a server that has stopped answering', () => {
  it.each([
    ['its command ends by SIGTERM', LIVES, undefined],
    ['a signal ends its command later', `process.on('SIGTERM', () => console.log('told')); ${LIVES}`, 'told'],
  ])(
    'has nothing to be given back, so the end does not wait for the server, and is 76: %s',
    async (_, source, told) => {
      const { begin, freeze } = await place();
      const child = begin('elect', 'x', '--lease', '10s', '--kill-after', '60s', ...node(source));
      await untilPrinted(child, 'up');
      await freeze();
      if (told !== undefined) {
        await untilPrinted(child, told);
        child.signal('SIGINT');
      }
      await untilSaid(child, 'is not held any more');
      // An end that waits for the server would take at least that long.
      const { code, stderr } = await resultOf(child, ELECTION_END_MS);
      expect(code).toBe(76);
      expect(stderr).not.toMatch(/giv(en|ing) back/);
    },
  );
});

describe('a release whose answer is lost', () => {
  it('is called neither done nor undone', async () => {
    const { env, locks } = await place();
    const proxy = await startFaultProxy(server.members[0]?.port ?? 0);
    whenTestEnds(() => proxy.close());
    const uri = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`;
    const child = start(['run', 'x', ...node(LIVES)], { ...env, LEASEHOLD_URI: uri });
    await untilPrinted(child, 'up');
    proxy.freeze('clients', 'replies');
    child.signal('SIGINT');
    const { code, stderr } = await resultOf(child);
    expect(code).toBe(130);
    expect(stderr).toContain('lock "x" may not have been given back; it ends by itself within 30.0s');
    expect((await locks.inspect('x'))?.holders).toEqual([]);
  });
});

describe('a command that ends while the server does not answer, without a signal', () => {
  /** Lives until it is told to end. No signal ends it. */
  const OBEYS = `
    process.on('SIGINT', () => undefined);
    process.stdin.once('data', () => { console.log('down'); process.exit(3); });
    ${LIVES}`;

  it.each([
    ['run', ['run', 'x', '--lease', '10m', ...node(OBEYS)]],
    ['elect', ['elect', 'x', '--lease', '10m', ...node(OBEYS)]],
  ] as const)(
    '%s gives its lock back when the server answers again, as after an election',
    async (_, args) => {
      const { begin, freeze, thaw, locks } = await place();
      const child = begin(...args);
      await untilPrinted(child, 'up');
      await freeze();
      child.order('end');
      // Longer than `release` waits for an answer, and than the end after a signal.
      await pause(7_000);
      thaw();
      const { code, stderr } = await resultOf(child);
      expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
      expect((await locks.inspect('x'))?.holders).toEqual([]);
    },
  );

  it('says that the lock may not have been given back, and a signal shortens the end', async () => {
    const { begin, freeze } = await place();
    const children = [1, 2].map((at) => begin('run', `x${at}`, ...node(OBEYS)));
    for (const child of children) await untilPrinted(child, 'up');
    await freeze();
    for (const child of children) child.order('end');
    const [patient, hurried] = children as [Child<string>, Child<string>];
    await untilPrinted(hurried, 'down');
    hurried.signal('SIGINT');
    await untilSaid(hurried, 'giving back lock "x2" takes at most 6 s');
    expect(await resultOf(hurried)).toMatchObject({ code: 3 });
    expect(await resultOf(patient)).toMatchObject({ code: 3 });
    expect(patient.stderr).not.toContain('giving back');
    for (const [at, { stderr }] of children.entries())
      expect(stderr).toContain(
        `lock "x${at + 1}" may not have been given back; it ends by itself within 30.0s`,
      );
  });
});

describe('a signal on a frozen server to a command that holds nothing', () => {
  it('ends it while the server still stands', async () => {
    const { begin, env, freeze, locks } = await place();
    await keepHold(locks.acquireMutex('x'));
    const watching = begin('watch', 'x');
    await using top = new InTerminal(['top'], env);
    const observing = begin('elect', 'x', '--observe');
    await untilPrinted(watching, 'held by');
    await untilPrinted(observing, 'no leader');
    await untilPrinted(top, '1 lock,');
    await freeze();
    await untilSaid(watching, 'unavailable');
    await untilPrinted(top, 'unavailable');
    await untilSaid(observing, 'The store failed or did not answer');
    const said = observing.stderr;
    // The process of the servers stands still until the test ends, so no read has been answered.
    observing.signal('SIGINT');
    expect(await resultOf(observing)).toMatchObject({ code: 130, stderr: said });
    watching.signal('SIGINT');
    top.type('\u0003');
    expect([(await resultOf(watching)).code, await top.exitCode()]).toEqual([130, 0]);
  });
});
