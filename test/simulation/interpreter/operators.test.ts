import { afterAll, expect, inject, it } from 'vitest';

import { EXPRESSION_OPERATORS } from '../../../src/testing/server/expressions.js';
import { randomFrom } from '../../../lab/random.js';
import { byBreadth } from '../../support/breadth.js';
import { drawSeed } from '../../support/seed.js';
import { compareAll, expectAgreement } from './comparison.js';
import type { Case } from './comparison.js';
import { drawExpression } from './random-expressions.js';
import { RealServer } from './real-server.js';

const server = new RealServer(inject('mongoUri'));

afterAll(() => server[Symbol.asyncDispose]());

const asUpdate = (expression: unknown): Case['update'] => [{ $replaceWith: { _id: '$_id', r: expression } }];

it('evaluates each operator as the real server does, for values of all types', async () => {
  const random = randomFrom(drawSeed('operators'));
  const count = byBreadth(12, 500) * EXPRESSION_OPERATORS.length;
  const tally = await compareAll(server, count, (index) => {
    const operator = EXPRESSION_OPERATORS[index % EXPRESSION_OPERATORS.length] ?? '$add';
    const { expression, document } = drawExpression(random, operator, 0);
    return { document, update: asUpdate(expression) };
  });
  expectAgreement(tally);
  expect(tally.compared).toBeGreaterThan(count * 0.8);
});

it('evaluates operators within operators as the real server does', async () => {
  const random = randomFrom(drawSeed('nested operators'));
  const count = byBreadth(400, 25_000);
  const tally = await compareAll(server, count, (index) => {
    const operator = EXPRESSION_OPERATORS[index % EXPRESSION_OPERATORS.length] ?? '$add';
    const { expression, document } = drawExpression(random, operator, 2);
    return { document, update: asUpdate(expression) };
  });
  expectAgreement(tally);
  expect(tally.compared).toBeGreaterThan(count * 0.8);
});
