import { expect, it } from 'vitest';

import { project } from '../../../src/testing/server/projections.js';
import { Shapes } from '../../../src/testing/server/shapes.js';
import { applyPipeline } from '../../../src/testing/server/updates.js';
import { fromDriver, isDocument, toDriver } from '../../../src/testing/server/values.js';
import type { DocumentValue, Value } from '../../../src/testing/server/values.js';

const STORED = fromDriver({ _id: 'x', a: [1, 2, 3], b: 'b', c: { d: 4 } }) as DocumentValue;

const shown = (fields: object): unknown => toDriver(project(STORED, fromDriver(fields) as DocumentValue, 0));

const updated = (...pipeline: readonly object[]): unknown =>
  toDriver(applyPipeline(STORED, fromDriver(pipeline), 0));

it('projections with other flags and cuts have other shapes', () => {
  expect(shown({ _id: 1, b: 1 })).toEqual({ _id: 'x', b: 'b' });
  expect(shown({ _id: 0, b: 1 })).toEqual({ b: 'b' });
  expect(shown({ _id: 0, b: 0 })).toEqual({ a: [1, 2, 3], c: { d: 4 } });
  expect(shown({ _id: false, b: true })).toEqual({ b: 'b' });
  expect(shown({ _id: 0, b: 1, a: { $slice: 1 } })).toEqual({ a: [1], b: 'b' });
  expect(shown({ _id: 0, b: 1, a: { $slice: -2 } })).toEqual({ a: [2, 3], b: 'b' });
});

it('values of one shape keep their own constants and paths', () => {
  expect(shown({ _id: 0, e: '$c.d', f: { $literal: 1 } })).toEqual({ e: 4, f: 1 });
  expect(shown({ _id: 0, e: '$c.z', f: { $literal: 2 } })).toEqual({ f: 2 });
  expect(updated({ $set: { b: 1 } }, { $set: { c: '$b' } })).toMatchObject({ b: 1, c: 1 });
  expect(updated({ $set: { b: 2 } }, { $set: { c: '$b' } })).toMatchObject({ b: 2, c: 2 });
  expect(updated({ $set: { b: 2 } }, { $set: { c: '$$ROOT.b' } })).toMatchObject({ c: 2 });
});

it('a stage that lists fields is never taken for another one', () => {
  expect(updated({ $unset: 'a' })).toEqual({ _id: 'x', b: 'b', c: { d: 4 } });
  expect(updated({ $unset: 'b' })).toEqual({ _id: 'x', a: [1, 2, 3], c: { d: 4 } });
  expect(updated({ $project: { a: 1 } })).toEqual({ _id: 'x', a: [1, 2, 3] });
  expect(updated({ $project: { a: 0 } })).toEqual({ _id: 'x', b: 'b', c: { d: 4 } });
});

it('a path that the server refuses fails each time, with the error of the server', () => {
  for (let time = 0; time < 2; time += 1) {
    expect(() => updated({ $set: { b: '$c..d' } })).toThrow(/field names may not be empty/i);
  }
});

it('the cache is emptied when it is full, although no source that filled it can be compiled', () => {
  const compiled: Value[] = [];
  const shapes = new Shapes('expression', (source) => {
    if (isDocument(source)) throw new Error('refused');
    compiled.push(source);
    return source;
  });
  const known = fromDriver(['$known']);
  shapes.of(known);
  shapes.of(known);
  expect(compiled).toHaveLength(1);
  for (let steps = 0; steps <= 200_000; steps += 1_000) {
    const names = Array.from({ length: 1_000 }, (_, index) => `$n${steps + index}`);
    expect(() => shapes.of(fromDriver({ refused: names }))).toThrow('refused');
  }
  shapes.of(known);
  expect(compiled).toHaveLength(2);
});
