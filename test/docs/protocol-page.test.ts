import { runInNewContext } from 'node:vm';
import { type Document, Long } from 'mongodb';
import { describe, expect, test } from 'vitest';

import { OwnDatabase } from '../support/test-provider.js';
import type { OwnClient } from '../support/test-provider.js';
import { eventually, later } from '../../lab/patience.js';
import { markedBlock } from './pages.js';

const PAGE = 'docs/protocol.md';
const NAME = 'invoice:42';
const DAY_MS = 86_400_000;
const HALF_DAY_MS = DAY_MS / 2;
const ATTEMPT = /w[0-9a-f]{24}/g;
const PROCESS = /[\w.-]+:\d+:[0-9a-f]{16}/g;

/** The value of a printed block, with only those names of mongosh that the page uses. */
function printed(mark: string): Document {
  const code = markedBlock(PAGE, mark).code.trim().replace(/;$/, '');
  return runInNewContext(`(${code})`, {
    db: { runCommand: (command: Document) => command },
    ISODate: (text: string) => new Date(text),
    Long: (text: string) => Long.fromString(text),
  }) as Document;
}

/** The part of a value that is the same in every run: ids are numbered in their order, dates and Longs are types. */
function shapeOf(value: unknown): unknown {
  const ids = new Map<string, string>();
  const nth = (kind: string) => (id: string) => {
    const known = ids.get(id) ?? `<${kind} ${ids.size + 1}>`;
    ids.set(id, known);
    return known;
  };
  const anonymous = (text: string): string =>
    text
      .replaceAll(/w[0-9a-f]{24}/g, nth('attempt'))
      .replaceAll(/[\w.-]+:\d+:[0-9a-f]{16}/g, nth('process'))
      .replaceAll(/~[0-9a-f]{12}/g, '~<nonce>');
  const walk = (each: unknown): unknown => {
    if (typeof each === 'string') return anonymous(each);
    if (each instanceof Date) return '<date>';
    if (Long.isLong(each)) return '<long>';
    if (Array.isArray(each)) return each.map(walk);
    if (typeof each !== 'object' || each === null) return each;
    return Object.fromEntries(Object.entries(each).map(([key, inner]) => [anonymous(key), walk(inner)]));
  };
  return walk(value);
}

/** The transitions of this client, as commands without the fields that the driver adds. */
function sentBy(client: OwnClient): readonly Document[] {
  const found = client.commands.filter(({ commandName }) => commandName === 'findAndModify');
  const driversOwn = new Set(['lsid', 'txnNumber', '$db', '$clusterTime', '$readPreference']);
  return found.map(({ command }) =>
    Object.fromEntries(Object.entries(command).filter(([key]) => !driversOwn.has(key))),
  );
}

/** The command with the names of the page, to paste it there; prettier formats it. */
function toPrint(command: Document): string {
  const show = (value: unknown): string => {
    if (value instanceof Date) return `ISODate('2026-03-14T09:26:52.589Z')`;
    if (Array.isArray(value)) return `[${value.map(show).join(', ')}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    return `{ ${Object.entries(value)
      .map(([key, inner]) => `${key}: ${show(inner)}`)
      .join(', ')} }`;
  };
  return `db.runCommand(${show(command)});`
    .replaceAll(ATTEMPT, 'w1d0c4b6f2a7e95830c1b2d3e')
    .replaceAll(PROCESS, 'shop-1:4711:9f86d081884c7d65');
}

const stored = async (database: OwnDatabase): Promise<Document | null> =>
  await database.plain.db
    .collection<{ _id: string }>('distributed.locks')
    .findOne({ _id: NAME }, { promoteLongs: false });

/** The differences of lease, token, fence and purge date from the values that the rules give. */
function sumsOf({ fence, holder, purgeAt }: Document): object {
  const { acquiredAt, expiresAt, leaseMs, token } = holder as {
    acquiredAt: Date;
    expiresAt: Date;
    leaseMs: number;
    token: Long;
  };
  const unusedMs = expiresAt.getTime() + 7 * DAY_MS;
  const spreadMs = (((fence as Long).toNumber() % HALF_DAY_MS) * 48_271) % HALF_DAY_MS;
  return {
    leaseMs: expiresAt.getTime() - acquiredAt.getTime() - leaseMs,
    token: token.toNumber() - acquiredAt.getTime() * 1_000,
    fence: (fence as Long).toNumber() - token.toNumber(),
    purgeAt: (purgeAt as Date).getTime() - unusedMs - HALF_DAY_MS - spreadMs,
  };
}

describe('docs/protocol.md', () => {
  test('prints the fast path that an acquire sends first, and the transition that follows if it does not apply', async () => {
    await using database = new OwnDatabase();
    const holder = await database.client().provider().createMutex(NAME).acquire();
    const billing = database.client();
    const lock = billing.provider({ label: 'billing' }).createMutex(NAME);
    const refused = later(lock.acquire({ why: 'charge', timeoutMs: 60_000 }));
    const [fastPath, transition] = await eventually('both commands', () => {
      const [first, second] = sentBy(billing);
      return first !== undefined && second !== undefined && ([first, second] as const);
    });
    await holder.release();
    await (await refused).release();
    for (const [mark, sent] of [
      ['sent: a fast path', fastPath],
      ['sent: an enqueue', transition],
    ] as const) {
      expect(shapeOf(printed(mark)), `${PAGE} should print ${toPrint(sent)}`).toEqual(shapeOf(sent));
    }
  });

  test('prints the document that is stored after an acquire', async () => {
    await using database = new OwnDatabase();
    const locks = database.client().provider({ label: 'billing' });
    await using lock = await locks.createMutex(NAME).acquire({ why: 'charge' });

    const document = await stored(database);
    const onPage = printed('stored: after the enqueue');
    expect(lock.isHeld).toBe(true);
    expect(shapeOf(onPage)).toEqual(shapeOf(document));
    expect(sumsOf(onPage)).toEqual(sumsOf(document ?? {}));
  });

  test('prints the document with a holder and a waiter', async () => {
    await using database = new OwnDatabase();
    const locks = database.client().provider({ label: 'billing' });
    await using lock = await locks.createMutex(NAME).acquire({ why: 'charge' });
    const waiting = database.client().provider().createMutex(NAME).acquire();
    const document = await eventually('a waiter in the queue that has looked', async () => {
      const found = await stored(database);
      const { queue, wake } = (found ?? { queue: {}, wake: '' }) as { queue: object; wake: string };
      return Object.keys(queue).length === 1 && wake !== '' ? found : null;
    });
    await lock.release();
    await (await waiting).release();

    expect(shapeOf(printed('stored: a holder and a waiter'))).toEqual(shapeOf(document));
  });
});
