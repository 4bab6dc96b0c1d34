import { afterAll, describe, expect, inject, it } from 'vitest';

import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import { KINDS } from '../../model/documents/lock-kinds.js';
import { versionOf } from '../../../src/testing/judge/lock-version.js';
import { ask, enqueue, evict, exchange, leave, tryOnce } from '../../model/documents/operations.js';

const driver = new LockDocumentDriver(inject('mongoUri'));

afterAll(() => driver[Symbol.asyncDispose]());

/** Texts with a meaning in an aggregation, a path, a regular expression, JavaScript or a careless comparison. */
const texts: readonly string[] = [
  ...['$x', '$', '$$NOW', '$$ROOT', '$$FOO', '$holder', '$holder.id', '$_id', '$$REMOVE', '$queue.w1'],
  ...[
    'a.b',
    '.',
    '..',
    'holder.id',
    '{ "$gt": "" }',
    '["$holder"]',
    '^.*$',
    '(a+)+$',
    '*',
    '%',
    "'; drop",
    '\\',
  ],
  ...['__proto__', 'constructor', 'toString', '_id', 'null', 'undefined', 'NaN', '0', '-1', 'true'],
  ...[' ', '  lead and trail  ', '\t', '\n', '\r\n', ':', 'a:b:0', '-w1:0', ' p1:w1:7'],
  ...[
    '🔒',
    '👩‍👩‍👧‍👦',
    'é',
    'e\u0301',
    'ﬀ',
    'İ',
    'ß',
    'A',
    'a',
    '\u200b',
    '\ufeff',
    '\u202e',
    '\uffff',
    '\u{10ffff}',
  ],
  ...['x'.repeat(1_024), '🔒'.repeat(256), '$'.repeat(1_024), '.'.repeat(1_024)],
];

const shown = texts.map((text) => [JSON.stringify(text.slice(0, 20)), text] as const);

describe('the name of a lock', () => {
  it.each(shown)('is plain data: %s', async (_, name) => {
    await driver.apply(name, [enqueue('wh')]);
    await driver.apply(name, [enqueue('w1')]);
    const { stored } = await driver.apply(name, [leave('wh')]);
    expect(stored).toMatchObject({ _id: name, holder: { id: 'w1' }, queue: {} });
    expect(await driver.read(name)).toEqual(stored);
  });

  it('names a different lock for each different text', async () => {
    const holders = [];
    for (const [index, name] of texts.entries()) {
      const own = `wa${index}`;
      await driver.delete(name);
      await driver.apply(name, [tryOnce(own)]);
      holders.push([name, own] as const);
    }
    for (const [name, own] of holders) {
      expect(versionOf(await driver.read(name)).leases).toMatchObject([{ id: own }]);
    }
    expect(new Set(texts).size).toBe(texts.length);
  });
});

describe('the reason and the label', () => {
  it.each(shown)('are stored unchanged, in the place and in the lease: %s', async (_, text) => {
    const name = driver.newName();
    const words = { why: text, label: text };
    await driver.apply(name, [tryOnce('wh', words)]);
    await driver.apply(name, [enqueue('w1', words)]);
    const { leases, queue } = versionOf(await driver.read(name));
    expect([leases[0], queue[0]?.[1]]).toMatchObject([words, words]);
    await driver.apply(name, [leave('wh'), ask('w1', text)]);
    const { leases: asked } = versionOf(await driver.read(name));
    expect(asked).toMatchObject([{ id: 'w1', ...words, ending: true, endingWhy: text }]);
  });
});

describe.each(KINDS)('an invented attempt id for a $model.kind', ({ rules }) => {
  const own = new LockDocumentDriver(inject('mongoUri'), rules);

  afterAll(() => own[Symbol.asyncDispose]());

  it.each(shown)('is plain data, matches no attempt and changes nothing: %s', async (_, id) => {
    const name = own.newName();
    await own.apply(name, [enqueue('wh', { limit: 1 }), enqueue('w1')]);
    const before = versionOf(await own.read(name));
    for (const operation of [evict(id), ask(id, 'why'), exchange(id, 1, 'read'), exchange(id, 2, 'write')]) {
      const { reply } = await own.apply(name, [operation]);
      expect(reply.wake).toEqual([]);
    }
    await own.extend(name, [id], 30_000, 0);
    expect(versionOf(await own.read(name))).toEqual(before);
  });
});
