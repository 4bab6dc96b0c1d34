import { MongoClient } from 'mongodb';
import type { Db, Document } from 'mongodb';
import { describe, expect, it, vi } from 'vitest';
import { whenTestEnds } from '../../support/current-test.js';
import type { Clock } from '../../../src/clock.js';
import { systemClock } from '../../../src/clock.js';
import { QueueFullError } from '../../../src/index.js';
import { parseProviderOptions } from '../../../src/options/provider-options.js';
import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import type { Request } from '../../../src/protocol/operation.js';
import { Combiner } from '../../../src/store/updates/combiner.js';
import { Committer } from '../../../src/store/updates/committer.js';
import type { Submission } from '../../../src/store/updates/combiner.js';
import { LockCollection } from '../../../src/store/lock-collection.js';
import type { Outcome } from '../../../src/store/outcome.js';
import { ManualClock } from '../../support/manual-clock.js';
import { eventually } from '../../../lab/patience.js';

/** One update that was sent, and how it is answered. */
interface Update {
  /** The attempts of its requests and departures, in their order. */
  readonly ids: readonly string[];
  answer(outcome: 'done' | Error): void;
}

/** A combiner over a collection whose answers come from the test. */
class CombinerHarness {
  readonly updates: Update[] = [];
  readonly combiner: Combiner;
  /** Answers every update; without it, a test answers them by hand. */
  answersBy: ((update: Update) => 'done' | Error) | undefined;

  constructor(clock: Clock = systemClock) {
    const client = new MongoClient('mongodb://127.0.0.1:1');
    const db: Db = client.db('nowhere');
    vi.spyOn(db, 'command').mockImplementation(
      async (command: Document) => await this.#sent(command['update'] as readonly Document[]),
    );
    const collection = new LockCollection(db, parseProviderOptions({}), clock, () => undefined);
    whenTestEnds(async () => {
      collection.close();
      await client.close();
    });
    this.combiner = new Combiner(collection, new Committer(collection, clock), 'p', clock, () => undefined);
  }

  enqueue(id: string, made: (id: string) => void = () => undefined): Submission {
    const make = (): Request => {
      made(id);
      return requestOf(id);
    };
    return this.combiner.submit('a', mutexRules, { type: 'enqueue', id, make });
  }

  leave(id: string): Submission {
    return this.combiner.submit('a', mutexRules, { type: 'leave', id });
  }

  async update(number: number): Promise<Update> {
    return await eventually(`update ${String(number)} is sent`, () => this.updates[number]);
  }

  async #sent(pipeline: readonly Document[]): Promise<Document> {
    const text = JSON.stringify(pipeline);
    const ids = [...text.matchAll(/"k":"(w\w+)"|" -(w\w+):"/g)].map(
      ([, queued, left]) => queued ?? left ?? '',
    );
    return await new Promise((resolve, reject) => {
      const answer = (outcome: 'done' | Error): void => {
        if (outcome === 'done') resolve({ value: stored });
        else reject(outcome);
      };
      const update = { ids, answer };
      this.updates.push(update);
      if (this.answersBy !== undefined) answer(this.answersBy(update));
    });
  }
}

const stored = {
  ...{ now: new Date(), kind: 'mutex', v: 1, fence: 1, wake: '', holder: null },
  queue: { mine: [], length: 0, earliest: null },
};

const requestOf = (id: string): Request => ({
  ...{ id, process: 'p', leaseMs: 30_000, notAfter: new Date(), maxMembers: 7, retentionMs: 0 },
});

const tooLarge = (): Error =>
  Object.assign(new Error('the document is too large'), { name: 'MongoServerError', code: 17_419 });

const typesOf = async (submissions: readonly Submission[]): Promise<readonly Outcome<unknown>['type'][]> =>
  (await Promise.all(submissions.map(({ outcome }) => outcome))).map(({ type }) => type);

const ids = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `w${String(index)}`);

describe('the combiner', () => {
  it('builds a request when its update is sent, and not when the request joins the lane', async () => {
    const harness = new CombinerHarness();
    const made: string[] = [];
    const submissions = ids(150).map((id) => harness.enqueue(id, (which) => made.push(which)));
    const first = await harness.update(0);
    expect(made).toEqual(ids(100));
    first.answer('done');
    (await harness.update(1)).answer('done');
    expect(await typesOf(submissions)).toEqual(ids(150).map(() => 'done'));
    expect(made).toEqual(ids(150));
  });

  it('sends a release in the very next update, ahead of all waiting requests', async () => {
    const harness = new CombinerHarness();
    const submissions = ids(1_000).map((id) => harness.enqueue(id));
    const first = await harness.update(0);
    submissions.push(harness.leave('wheld'));
    first.answer('done');
    const second = await harness.update(1);
    expect(second.ids[0]).toBe('wheld');
    expect(second.ids.slice(1)).toEqual(ids(1_000).slice(100, 199));
    for (let number = 1; number <= 10; number += 1) (await harness.update(number)).answer('done');
    expect(new Set(await typesOf(submissions))).toEqual(new Set(['done']));
  });

  it('fails only the one operation that the server refuses', async () => {
    const harness = new CombinerHarness();
    const submissions = ids(64).map((id) => harness.enqueue(id));
    harness.answersBy = (update) => (update.ids.includes('w20') ? tooLarge() : 'done');
    const outcomes = await Promise.all(submissions.map(({ outcome }) => outcome));
    const refused = outcomes.flatMap((outcome, index) =>
      outcome.type === 'refused' ? [{ index, outcome }] : [],
    );
    expect(refused).toMatchObject([{ index: 20, outcome: { byServer: true } }]);
    expect(refused[0]?.outcome.error).toBeInstanceOf(QueueFullError);
    expect(refused[0]?.outcome.error).toMatchObject({ maxMembers: 7, cause: { code: 17_419 } });
    expect(outcomes.filter(({ type }) => type === 'done')).toHaveLength(63);
    expect(harness.updates.length).toBeLessThan(20);
  });

  it('reports a look that found no room as unknown and not applied, and a leave as refused', async () => {
    const harness = new CombinerHarness();
    harness.answersBy = tooLarge;
    const terms = { leaseMs: 30_000, retentionMs: 0 };
    const look = { type: 'extend', ids: ['w1'], ...terms, nonce: '0123456789ab' } as const;
    const looking = harness.combiner.submit('a', mutexRules, look);
    expect(await looking.outcome).toMatchObject({ type: 'unknown', maybeApplied: false });
    expect(await harness.leave('w1').outcome).toMatchObject({ type: 'refused' });
  });

  it('sends at most two updates for each operation if the server refuses all of them', async () => {
    const harness = new CombinerHarness();
    const submissions = ids(100).map((id) => harness.enqueue(id));
    harness.answersBy = tooLarge;
    expect(await typesOf(submissions)).toEqual(ids(100).map(() => 'refused'));
    expect(harness.updates.length).toBeLessThan(200);
  });

  it('does not split an update that fails for a missing privilege, or that gets no answer', async () => {
    const harness = new CombinerHarness();
    const unauthorized = Object.assign(new Error('not authorized'), { name: 'MongoServerError', code: 13 });
    const unanswered = Object.assign(new Error('the socket was closed'), { name: 'MongoNetworkError' });
    for (const [number, error] of [unauthorized, unanswered].entries()) {
      const submissions = ids(10).map((id) => harness.enqueue(id));
      (await harness.update(number)).answer(error);
      expect(new Set(await typesOf(submissions)).size).toBe(1);
      expect(harness.updates).toHaveLength(number + 1);
    }
  });

  it('sends smaller updates after one that was slow or got no answer', async () => {
    const clock = new ManualClock();
    const harness = new CombinerHarness(clock);
    const submissions = ids(400).map((id) => harness.enqueue(id));
    const first = await harness.update(0);
    clock.advance(2_000);
    first.answer('done');
    const second = await harness.update(1);
    clock.advance(5_000);
    const third = await harness.update(2);
    third.answer('done');
    const fourth = await harness.update(3);
    expect([first, second, third, fourth].map((update) => update.ids.length)).toEqual([100, 50, 25, 50]);
    harness.answersBy = () => 'done';
    fourth.answer('done');
    const types = await typesOf(submissions);
    expect(types.filter((type) => type === 'unknown')).toHaveLength(50);
    expect(types.filter((type) => type === 'done')).toHaveLength(350);
  });

  it('never sends a withdrawn operation', async () => {
    const harness = new CombinerHarness();
    const [first, second, third] = ['w1', 'w2', 'w3'].map((id) => harness.enqueue(id));
    expect(second?.withdraw()).toBe(true);
    const update = await harness.update(0);
    expect(update.ids).toEqual(['w1', 'w3']);
    expect(third?.withdraw()).toBe(false);
    update.answer('done');
    expect(await first?.outcome).toMatchObject({ type: 'done' });
  });

  it('tries the fast path for the first copy of a request, and never for a repeat', async () => {
    const harness = new CombinerHarness();
    const first = harness.enqueue('w1');
    // A fast path puts no waiter into the queue.
    const fastPath = await harness.update(0);
    expect(fastPath.ids).toEqual([]);
    fastPath.answer('done');
    const whole = await harness.update(1);
    expect(whole.ids).toEqual(['w1']);
    whole.answer('done');
    expect(await first.outcome).toMatchObject({ type: 'done' });

    const make = (): Request => requestOf('w2');
    const operation = { type: 'enqueue', id: 'w2', make } as const;
    const repeat = harness.combiner.submit('unseen', mutexRules, operation, { isRepeat: true });
    const update = await harness.update(2);
    expect(update.ids).toEqual(['w2']);
    update.answer('done');
    expect(await repeat.outcome).toMatchObject({ type: 'done' });
  });
});
