import { describe, expect, it } from 'vitest';
import { eventually, later, rejection, staysOpen, within } from '../../../lab/patience.js';
import { runToEnd } from '../../../lab/processes/child.js';
import { inline } from '../../../lab/processes/program.js';
import { failCommands, testProvider, useOwnServer } from '../../support/test-provider.js';

useOwnServer();

const SOON_MS = 60_000;
const AWAY = { failCommands: ['findAndModify', 'find', 'hello'], closeConnection: true };

describe('a candidate whose store does not answer', () => {
  it('keeps trying to start, emits one error, and queues when the store is back', async () => {
    const one = await testProvider({ storeTimeoutMs: 300 });
    const errors: unknown[] = [];
    const election = one.locks.createLeaderElection('e', { candidateId: 'a' });
    election.on('error', (error) => errors.push(error));
    const heal = await failCommands(one, 'alwaysOn', AWAY);
    const starting = later(election.start());
    await eventually('an error', () => errors.length > 0);
    expect(errors[0]).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      lockName: 'e',
      cause: expect.any(Error) as unknown,
    });
    const late = await rejection(election.untilElected({ timeoutMs: 10 }));
    expect(late).toMatchObject({ code: 'ACQUIRE_TIMEOUT', cause: expect.any(Error) as unknown });
    expect((late as Error).message).toMatch(/the store did not answer|the store has not answered|no answer/);
    expect(await staysOpen(starting, 500)).toBe(true);
    expect(errors).toHaveLength(1);
    await heal();
    await within(SOON_MS, 'the start', starting);
    await within(SOON_MS, 'the term', election.untilElected());
    await election.stop();
  });

  it('can be stopped while it tries to start', async () => {
    const one = await testProvider({ storeTimeoutMs: 300 });
    const election = one.locks.createLeaderElection('e');
    election.on('error', () => undefined);
    await failCommands(one, 'alwaysOn', AWAY);
    const starting = later(election.start());
    await within(SOON_MS, 'both', Promise.all([election.stop(), starting]));
    expect(election.state).toBe('stopped');
  });
});

describe('a process that awaits an election', () => {
  it('stays alive until the awaited calls have settled, and then ends', async () => {
    const program = `
      import { MongoClient } from 'mongodb';
      import { LockProvider } from 'leasehold';
      const client = new MongoClient('mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=100');
      const locks = new LockProvider(client.db('x'), { storeTimeoutMs: 200 });
      const election = locks.createLeaderElection('e');
      election.on('error', () => undefined);
      const next = election.observe()[Symbol.asyncIterator]().next();
      const started = election.start();
      await election.untilElected({ timeoutMs: 700 }).catch((error) => console.log(error.code));
      await election.stop();
      await started;
      await locks.close();
      console.log((await next).done, election.state);
      await client.close();`;
    const { stdout } = await runToEnd(inline(program));
    expect(stdout.trim().split('\n')).toEqual(['ACQUIRE_TIMEOUT', 'true stopped']);
  });
});
