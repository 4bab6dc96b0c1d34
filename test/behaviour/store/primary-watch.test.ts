import { EventEmitter } from 'node:events';
import type { MongoClient } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { PrimaryWatch } from '../../../src/store/primary-watch.js';

const EVENT = 'topologyDescriptionChanged';

let client: EventEmitter;
let watch: PrimaryWatch;

beforeEach(() => {
  client = new EventEmitter();
  watch = PrimaryWatch.join(client as unknown as MongoClient);
});

const description = (primary: string | null): object => ({
  servers: new Map(
    ['a', 'b', 'c'].map((address) => [
      address,
      { address, type: address === primary ? 'RSPrimary' : 'RSSecondary' },
    ]),
  ),
});

/** Emits the event by which the driver reports a change of the primary. */
function changes(from: string | null, to: string | null): void {
  client.emit(EVENT, { previousDescription: description(from), newDescription: description(to) });
}

/** A pending call, and the messages of the errors that it got. */
function call(): { readonly errors: readonly string[]; readonly end: () => void } {
  const errors: string[] = [];
  const end = watch.asking(({ message }) => errors.push(message));
  return { errors, end };
}

describe('a call that waits for an answer from a primary', () => {
  it('is ended once when another member becomes the primary', () => {
    changes(null, 'a');
    const { errors } = call();
    changes('a', 'b');
    changes('b', 'c');
    expect(errors).toEqual(['no answer from a, and b is the primary now']);
  });

  it('is ended also if there was no primary for a while in between', () => {
    changes(null, 'a');
    const { errors } = call();
    changes('a', null);
    changes(null, 'b');
    expect(errors).toHaveLength(1);
  });

  it('is not ended by the first primary after a close of the client', () => {
    changes(null, 'a');
    client.emit('topologyClosed', {});
    const { errors } = call();
    changes(null, 'b');
    expect(errors).toEqual([]);
    changes('b', 'c');
    expect(errors).toEqual(['no answer from b, and c is the primary now']);
  });

  it('is not ended by other changes, or when the same primary comes back', () => {
    changes(null, 'a');
    const { errors } = call();
    changes('a', 'a');
    changes('a', null);
    changes(null, 'a');
    expect(errors).toEqual([]);
  });

  it('is not ended by the primary that it has waited for, but by the next one', () => {
    changes('a', null);
    const { errors } = call();
    changes(null, 'b');
    expect(errors).toEqual([]);
    changes('b', 'c');
    expect(errors).toEqual(['no answer from b, and c is the primary now']);
  });

  it('is ended by the first change of the primary, but not by the discovery of the first primary', () => {
    const early = call();
    changes(null, 'a');
    expect(early.errors).toEqual([]);
    changes('a', 'b');
    expect(early.errors).toHaveLength(1);
    const other = PrimaryWatch.join(new EventEmitter() as unknown as MongoClient);
    expect(other).not.toBe(watch);
  });

  it('is not ended any more once it has its answer', () => {
    changes(null, 'a');
    const { errors, end } = call();
    end();
    changes('a', 'b');
    expect(errors).toEqual([]);
  });
});

it('a client has one listener for all its providers, and none after the last provider has left', () => {
  const others = Array.from({ length: 20 }, () => PrimaryWatch.join(client as unknown as MongoClient));
  expect(new Set(others)).toEqual(new Set([watch]));
  expect(client.listenerCount(EVENT)).toBe(1);
  for (const other of others) other.leave();
  expect(client.listenerCount(EVENT)).toBe(1);
  watch.leave();
  expect(client.listenerCount(EVENT)).toBe(0);
});
