import { inspect } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { MockInstance } from 'vitest';
import { IsolatedEmitter } from '../../../src/isolated-emitter.js';
import type { LockProviderEvents } from '../../../src/events.js';
import { UnheardFailures } from '../../../src/warnings.js';
import { ManualClock } from '../../support/manual-clock.js';
import { eventually, pause, rejection } from '../../../lab/patience.js';
import { randomName, testProvider, twoProviders } from '../../support/test-provider.js';
import { keepHold } from '../../support/keep-hold.js';

type Warned = readonly [message: string, options: { type: string; code?: string; detail?: string }];

function captureWarnings(): () => readonly Warned[] {
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  return () => (spy as MockInstance).mock.calls as unknown as readonly Warned[];
}

const withCode = (warnings: readonly Warned[], code: string): readonly Warned[] =>
  warnings.filter(([, options]) => options.code === code);

afterEach(() => {
  vi.restoreAllMocks();
});

interface Events {
  failed: [string];
  other: [string];
  expected: [string];
}

const failures = (clock: ManualClock): UnheardFailures<Events> =>
  new UnheardFailures<Events>(
    {
      failed: { code: 'LEASEHOLD_FAILED', message: (what) => `It failed: ${what}` },
      other: { code: 'LEASEHOLD_OTHER', message: (what) => `Another: ${what}` },
      expected: { code: 'LEASEHOLD_EXPECTED', message: () => null },
    },
    clock,
  );

describe('a failure event', () => {
  it('without a listener is a one-line process warning, at most once a minute, and the next one counts those left out', () => {
    const warnings = captureWarnings();
    const clock = new ManualClock();
    const unheard = failures(clock);
    unheard.report('failed', ['first']);
    unheard.report('failed', ['second']);
    unheard.report('other', ['beside']);
    clock.advance(59_999);
    unheard.report('failed', ['third']);
    expect(warnings().map(([message]) => message.split(' (')[0])).toEqual([
      'It failed: first',
      'Another: beside',
    ]);
    clock.advance(1);
    unheard.report('failed', ['fourth']);
    clock.advance(60_000);
    unheard.report('failed', ['fifth']);
    const [, , fourth, fifth] = warnings();
    expect(fourth?.[0]).toMatch(
      /^It failed: fourth \(no listener for "failed"; 2 more since the last warning; https:.*#warnings\)$/,
    );
    expect(fifth?.[0]).not.toContain('more since');
    expect(fourth?.[1]).toEqual({ type: 'LeaseholdWarning', code: 'LEASEHOLD_FAILED' });
  });

  it('without a listener starts no timer', () => {
    captureWarnings();
    const clock = new ManualClock();
    const unheard = failures(clock);
    unheard.report('failed', ['first']);
    unheard.report('failed', ['second']);
    expect(clock.alarms).toBe(0);
  });

  it('gives no warning if it was expected, or if no warning is defined for it', () => {
    const warnings = captureWarnings();
    const unheard = new UnheardFailures<Events>({
      expected: { code: 'LEASEHOLD_EXPECTED', message: () => null },
    });
    unheard.report('expected', ['this']);
    unheard.report('other', ['that']);
    expect(warnings()).toEqual([]);
  });

  it('gives no warning while it has a listener', () => {
    const warnings = captureWarnings();
    const emitter = new IsolatedEmitter<Events>({
      failed: { code: 'LEASEHOLD_FAILED', message: (what) => what },
    });
    const heard: string[] = [];
    emitter.on('failed', (what) => heard.push(what));
    expect(emitter.emit('failed', 'heard')).toBe(true);
    emitter.removeAllListeners();
    expect(emitter.emit('failed', 'unheard')).toBe(false);
    expect(heard).toEqual(['heard']);
    expect(warnings()).toHaveLength(1);
  });
});

/** A value that throws when it is inspected. */
const hostile = {
  [inspect.custom]: () => {
    throw new Error('hands off');
  },
};

describe('a provider', () => {
  it('warns about a lost hold with the lock and the cause, but not about one that close() ended', async () => {
    const [one, other] = await twoProviders();
    const warnings = captureWarnings();
    const lock = await one.locks.acquireMutex('taken "away"');
    await other.locks.revoke('taken "away"', { force: true });
    await rejection(lock.confirm());
    await keepHold(one.locks.acquireMutex('kept'));
    await one.locks.close({ drainMs: 0 });
    const lost = withCode(warnings(), 'LEASEHOLD_LOST');
    expect(lost).toHaveLength(1);
    expect(lost[0]?.[0]).toMatch(/^Lock "taken \\"away\\"" was lost \(\w+\) after \d+ ms, with token \d+ \(/);
  });

  it('gives no warning after close(), which removes its listeners', async () => {
    const warnings = captureWarnings();
    const { locks } = await testProvider();
    locks.on('storeError', () => undefined);
    await locks.close();
    locks.emit('storeError', { lockName: null, during: 'read', error: new Error('late') });
    expect(warnings()).toEqual([]);
  });

  it('warns in one line about a corrupt document that list() skips, with the lock and the error', async () => {
    const provider = await testProvider();
    const { locks } = provider;
    await (await locks.acquireMutex('odd')).release();
    await provider.tamper('odd', { $set: { queue: 5 } });
    const warnings = captureWarnings();
    for await (const found of locks.list()) expect(found.name).not.toBe('odd');
    const [[message] = ['']] = withCode(warnings(), 'LEASEHOLD_STORE_ERROR');
    expect(message).toContain('of lock "odd"');
    expect(message).toContain('CorruptLockDocumentError: ');
    expect(message).not.toContain('\n');
  });

  it('gives the durations in its events in whole milliseconds', async () => {
    // A stall of a busy machine does not lose the lock before its first extension.
    const { locks } = await testProvider({ leaseMs: 30_000, extendEveryMs: 500 });
    const latest: Partial<Record<keyof LockProviderEvents, number>> = {};
    locks.on('acquired', ({ waitedMs }) => (latest.acquired = waitedMs));
    locks.on('extended', ({ remainingMs }) => (latest.extended = remainingMs));
    locks.on('released', ({ heldMs }) => (latest.released = heldMs));
    locks.on('timeout', ({ waitedMs }) => (latest.timeout = waitedMs));
    const lock = await locks.acquireMutex('x');
    const timeout = await rejection(locks.acquireMutex('x', { timeoutMs: 20 }));
    await eventually('an extension', () => latest.extended !== undefined);
    await lock.release();
    const durations = [latest.acquired, latest.extended, latest.released, latest.timeout];
    expect(durations.map((each) => Number.isInteger(each))).toEqual([true, true, true, true]);
    expect(Number.isInteger((timeout as { waitedMs: number }).waitedMs)).toBe(true);
  });
});

describe('an election', () => {
  it('warns about an onElected that throws, with its name and the stack', async () => {
    const { locks } = await testProvider();
    const warnings = captureWarnings();
    const election = locks.createLeaderElection('captain', {
      onElected: () => {
        throw new Error('no compass');
      },
    });
    await election.start();
    await eventually('a warning', () => withCode(warnings(), 'LEASEHOLD_ELECTION_ERROR').length > 0);
    const [[message, { type, detail }] = ['', { type: '', detail: '' }]] = withCode(
      warnings(),
      'LEASEHOLD_ELECTION_ERROR',
    );
    expect(message).toContain('Election "captain": a callback or a request failed: Error: no compass');
    expect(type).toBe('LeaseholdWarning');
    expect(detail).toContain('warnings.test.ts');
    await election.stop();
  });

  it('warns about an onElected that throws even if the thrown value cannot be shown', async () => {
    const { locks } = await testProvider();
    const warnings = captureWarnings();
    const election = locks.createLeaderElection('captain', {
      onElected: () => {
        throw hostile as unknown as Error;
      },
    });
    await election.start();
    await eventually('a warning', () => withCode(warnings(), 'LEASEHOLD_ELECTION_ERROR').length > 0);
    expect(withCode(warnings(), 'LEASEHOLD_ELECTION_ERROR')[0]?.[0]).toContain(
      'the thrown value cannot be shown',
    );
    await election.stop();
  });
});

describe('a job', () => {
  it('warns about a run that throws and about missed instants, with its name', async () => {
    const { locks } = await testProvider();
    const warnings = captureWarnings();
    let runs = 0;
    const name = randomName('job');
    const job = locks.createScheduledJob(name, {
      everyMs: 50,
      run: async () => {
        runs += 1;
        // The first run lasts past the next instants.
        if (runs === 1) await pause(120);
        else throw new Error(`run ${String(runs)}`);
      },
    });
    await job.start();
    await eventually('a run that failed', () => withCode(warnings(), 'LEASEHOLD_JOB_FAILED').length > 0);
    await eventually(
      'instants that were missed',
      () => withCode(warnings(), 'LEASEHOLD_JOB_MISSED').length > 0,
    );
    await job.stop();
    const [[failed] = ['']] = withCode(warnings(), 'LEASEHOLD_JOB_FAILED');
    const [[missed] = ['']] = withCode(warnings(), 'LEASEHOLD_JOB_MISSED');
    expect(failed).toContain(`Job "${name}": the run of 20`);
    expect(failed).toContain('failed: Error: run 2');
    expect(missed).toMatch(new RegExp(`^Job "${name}" missed \\d+ instants?, .*\\(overrun\\)`));
  });
});

describe('a client that is closed before its provider', () => {
  it('causes no warning from the wake stream or the index, which no caller waits for', async () => {
    const warnings = captureWarnings();
    const [other, { client, locks }] = await twoProviders();
    const hold = await other.locks.acquireMutex('a');
    const wait = locks.acquireMutex('a');
    await new Promise((resolve) => locks.once('wakeups', resolve));
    await hold.release();
    await (await wait).release();
    await client.close();
    await locks.close();
    expect(withCode(warnings(), 'LEASEHOLD_STORE_ERROR')).toEqual([]);
  });

  it('causes a warning about a release that cannot be sent', async () => {
    const warnings = captureWarnings();
    const { client, locks } = await testProvider({ createIndexes: false });
    const hold = await locks.acquireMutex('a');
    await client.close();
    await hold.release();
    const [[message] = []] = withCode(warnings(), 'LEASEHOLD_STORE_ERROR');
    expect(message).toContain('during transition of lock "a": MongoNotConnectedError: the client is closed');
  });
});
