import { afterAll, expect, inject, it } from 'vitest';

import { project } from '../../../src/testing/server/projections.js';
import { matches } from '../../../src/testing/server/queries.js';
import { fromDriver } from '../../../src/testing/server/values.js';
import type { DocumentValue } from '../../../src/testing/server/values.js';
import { randomFrom } from '../../../lab/random.js';
import { byBreadth } from '../../support/breadth.js';
import { drawSeed } from '../../support/seed.js';
import { compareAll, compared, difference, expectAgreement, simulated, together } from './comparison.js';
import type { Tally } from './comparison.js';
import { drawFields, drawFilter, drawListed, drawOperators, drawStage } from './random-documents.js';
import { RealServer, textOfName } from './real-server.js';
import type { Outcome } from './real-server.js';

/** The documents that one query or projection is compared on. */
const DOCUMENTS = 50;

const server = new RealServer(inject('mongoUri'));

afterAll(() => server[Symbol.asyncDispose]());

it('runs the stages of a pipeline as the real server does', async () => {
  const random = randomFrom(drawSeed('stages'));
  const count = byBreadth(300, 10_000);
  const tally = await compareAll(server, count, () => ({
    document: drawFields(random),
    update: Array.from({ length: random.between(1, 3) }, () => drawStage(random)),
  }));
  expectAgreement(tally);
  expect(tally.compared).toBe(count);
});

it('runs the operators of an update as the real server does', async () => {
  const random = randomFrom(drawSeed('update operators'));
  const count = byBreadth(300, 10_000);
  const tally = await compareAll(server, count, () => ({
    document: drawFields(random),
    update: drawOperators(random),
  }));
  expectAgreement(tally);
  expect(tally.compared).toBeGreaterThan(count * 0.8);
});

async function storeFields(
  random: ReturnType<typeof randomFrom>,
): Promise<ReadonlyMap<string, DocumentValue>> {
  const documents = Array.from(
    { length: DOCUMENTS },
    (_, index) => new Map([['_id', `n${index}`], ...drawFields(random)] as never),
  );
  await server.store(documents);
  return await server.all();
}

const codeOf = (error: unknown): number => {
  const { code } = error as { readonly code?: unknown };
  if (typeof code !== 'number') throw error;
  return code;
};

it('shows documents by a projection as the real server does', async () => {
  const random = randomFrom(drawSeed('projections'));
  const stored = await storeFields(random);
  const tallies: Tally[] = [];
  for (let round = 0; round < byBreadth(8, 200); round += 1) {
    const fields = drawListed(random);
    const shown = await server.list({}, fields).catch(codeOf);
    const own = fromDriver(fields) as DocumentValue;
    for (const [index, document] of [...stored.values()].entries()) {
      const real: Outcome =
        typeof shown === 'number' ? { code: shown } : { document: shown[index] ?? new Map() };
      const outcome = simulated(() => project(document, own, 0));
      tallies.push(compared(document, real, outcome, () => difference(document, { fields }, real, outcome)));
    }
  }
  expectAgreement(together(tallies));
});

it('selects documents by a query as the real server does', async () => {
  const random = randomFrom(drawSeed('queries'));
  const stored = await storeFields(random);
  const tallies: Tally[] = [];
  for (let round = 0; round < byBreadth(20, 400); round += 1) {
    const filter = drawFilter(random);
    const found = await server.list(filter, { _id: 1 }).catch(codeOf);
    const names = typeof found === 'number' ? undefined : new Set(found.map((each) => textOfName(each)));
    const own = fromDriver(filter) as DocumentValue;
    for (const [name, document] of stored) {
      const asWords = (isSelected: boolean): Outcome => ({ document: new Map([['isSelected', isSelected]]) });
      const real = names === undefined ? { code: found as number } : asWords(names.has(name));
      const outcome = simulated(() => new Map([['isSelected', matches(document, own, 0)]]));
      tallies.push(compared(document, real, outcome, () => difference(document, { filter }, real, outcome)));
    }
  }
  expectAgreement(together(tallies));
});
