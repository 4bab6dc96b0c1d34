import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { describe, expect, it } from 'vitest';
import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import { semaphoreRules } from '../../../src/protocol/kinds/semaphore-rules.js';
import { Lane, MAX_OPERATIONS } from '../../../src/store/updates/lane.js';
import type { QueuedOperation } from '../../../src/store/updates/lane.js';
import { drawSeed } from '../../support/seed.js';

interface Named extends QueuedOperation {
  readonly name: string;
}

const make = (): never => {
  throw new Error('nothing is sent here');
};

const enqueue = (id: string, rules = mutexRules): Named => ({
  name: `enqueue ${id}`,
  rules,
  takingOver: false,
  operation: { type: 'enqueue', id, make },
});

const leave = (id: string, rules = mutexRules): Named => ({
  name: `leave ${id}`,
  rules,
  takingOver: false,
  operation: { type: 'leave', id },
});

const look = (...ids: string[]): Named => ({
  name: `look ${ids.join()}`,
  rules: mutexRules,
  takingOver: false,
  operation: { type: 'extend', ids, leaseMs: 1_000, retentionMs: 0, nonce: 'n' },
});

function laneOf(...asked: readonly Named[]): Lane<Named> {
  const lane = new Lane<Named>();
  for (const each of asked) lane.add(each);
  return lane;
}

/** The updates of all operations in the lane. */
function* updatesOf(lane: Lane<Named>): Iterable<readonly Named[]> {
  for (let taken = lane.take(); taken.length > 0; taken = lane.take()) yield taken;
}

const names = (taken: readonly Named[]): readonly string[] => taken.map(({ name }) => name);

describe('the lane of a lock', () => {
  it('sends a release and a look ahead of thousands of requests, and the requests in their order', () => {
    const requests = Array.from({ length: 3_000 }, (_, index) => enqueue(`w${String(index)}`));
    const batches = [...updatesOf(laneOf(...requests, leave('held'), look('a', 'b')))].map(names);
    expect(batches[0]?.slice(0, 2)).toEqual(['leave held', 'look a,b']);
    expect(batches.flat().slice(2)).toEqual(names(requests));
    expect(batches).toHaveLength(Math.ceil(3_002 / MAX_OPERATIONS));
  });

  it('never sends a leave before the request of the same attempt', () => {
    const lane = laneOf(enqueue('a'), enqueue('b'), leave('b'), leave('held'));
    expect(names(lane.take())).toEqual(['leave held', 'enqueue a', 'enqueue b', 'leave b']);
  });

  it('sends a leave ahead of other requests if the request of its attempt was withdrawn', () => {
    const request = enqueue('a');
    const lane = laneOf(enqueue('b'), request);
    expect(lane.withdraw(request)).toBe(true);
    expect(lane.withdraw(request)).toBe(false);
    lane.add(leave('a'));
    expect(names(lane.take())).toEqual(['leave a', 'enqueue b']);
  });

  it('puts operations on different kinds of lock into different updates', () => {
    const lane = laneOf(enqueue('a'), enqueue('b', semaphoreRules), leave('c', semaphoreRules), leave('d'));
    expect([...updatesOf(lane)].map(names)).toEqual([['leave c'], ['leave d', 'enqueue a'], ['enqueue b']]);
  });

  it('splits a refused update until the refused operation is alone, and sends a release in between', () => {
    const requests = Array.from({ length: 100 }, (_, index) => enqueue(`w${String(index)}`));
    const lane = laneOf(...requests);
    const [sent, alone]: [string[], string[]] = [[], []];
    let updates = 0;
    for (const taken of updatesOf(lane)) {
      updates += 1;
      if (!taken.some(({ name }) => name === 'enqueue w70')) {
        sent.push(...names(taken));
        lane.passed(taken.length, 0);
      } else if (taken.length === 1) alone.push(...names(taken));
      else {
        lane.refused(taken);
        if (updates === 1) {
          lane.add(leave('held'));
          expect(names(lane.take())).toEqual(['leave held']);
        }
      }
    }
    expect(alone).toEqual(['enqueue w70']);
    expect(sent).toEqual(names(requests.filter(({ name }) => name !== 'enqueue w70')));
    expect(updates).toBeLessThan(25);
  });

  it('sends smaller updates while the server is slow, and full ones when it is fast again', () => {
    const lane = laneOf(...Array.from({ length: 2_000 }, (_, index) => enqueue(`w${String(index)}`)));
    /** The sizes of the next updates, if each operation takes this share of the time bound of a call. */
    const sizes = (updates: number, each: number, latency = 0): readonly number[] =>
      Array.from({ length: updates }, () => {
        const { length } = lane.take();
        lane.passed(length, latency + length * each);
        return length;
      });
    expect(sizes(5, 0.02)).toEqual([100, 50, 25, 13, 13]);
    expect(sizes(4, 0.001)).toEqual([13, 26, 52, 100]);
    // A server that is slow whatever the size of an update still gets updates of ten operations.
    expect(sizes(7, 0, 1)).toEqual([100, 50, 25, 13, 10, 10, 10]);
    expect(sizes(5, 0)).toEqual([10, 20, 40, 80, 100]);
  });

  it('keeps the order of requests, and of the operations of each attempt, in random histories', () => {
    const draw = xoroshiro128plus(drawSeed('lanes'));
    const upTo = (most: number): number => uniformInt(draw, 0, most);
    for (let round = 0; round < 300; round += 1) {
      const lane = new Lane<Named>();
      const [submitted, sent]: [Named[], Named[]] = [[], []];
      for (let step = 0, isEmpty = false; step < 60 || !isEmpty; step += 1) {
        isEmpty = false;
        const id = `w${String(upTo(5))}`;
        const choice = step < 60 ? upTo(9) : 9;
        if (choice < 7) {
          const asked = [enqueue(id), leave(id), look(id, `w${String(upTo(5))}`)][choice % 3] ?? enqueue(id);
          submitted.push(asked);
          lane.add(asked);
        } else if (choice === 7) {
          const [index, some] = [upTo(Math.max(0, submitted.length - 1)), submitted];
          const asked = some[index];
          if (asked !== undefined && lane.withdraw(asked)) some.splice(index, 1);
        } else {
          const taken = lane.take();
          isEmpty = taken.length === 0;
          if (taken.length > 1 && upTo(3) === 0) lane.refused(taken);
          else {
            sent.push(...taken);
            lane.passed(taken.length, 0);
          }
        }
      }
      expect(sent).toHaveLength(submitted.length);
      const requestsOf = (all: readonly Named[]): readonly Named[] =>
        all.filter(({ operation }) => operation.type === 'enqueue');
      expect(requestsOf(sent)).toEqual(requestsOf(submitted));
      for (let attempt = 0; attempt <= 5; attempt += 1) {
        const concerning = (all: readonly Named[]): readonly string[] =>
          names(all.filter(({ name }) => name.includes(`w${String(attempt)}`)));
        expect(concerning(sent)).toEqual(concerning(submitted));
      }
    }
  });
});
