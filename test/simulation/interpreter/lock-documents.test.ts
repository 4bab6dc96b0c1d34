import type { Document } from 'mongodb';
import { afterAll, describe, expect, inject, it } from 'vitest';

import type { Fields } from '../../../src/protocol/expressions.js';
import { project } from '../../../src/testing/server/projections.js';
import { fromDriver } from '../../../src/testing/server/values.js';
import type { DocumentValue } from '../../../src/testing/server/values.js';
import { randomFrom } from '../../../lab/random.js';
import type { Random } from '../../../lab/random.js';
import { KINDS } from '../../model/documents/lock-kinds.js';
import { byBreadth } from '../../support/breadth.js';
import { drawSeed } from '../../support/seed.js';
import { atClock } from './clock-literals.js';
import {
  compareStatements,
  compared,
  difference,
  expectAgreement,
  simulated,
  together,
} from './comparison.js';
import type { Tally } from './comparison.js';
import { clocksOf, drawDocument, drawUpdate } from './lock-cases.js';
import { drawProjection } from './lock-projections.js';
import { RealServer } from './real-server.js';

/** The documents of a history, each of which gets an update of its own in each round. */
const DOCUMENTS = byBreadth(10, 100);
const ROUNDS = 8;
const HISTORIES = byBreadth(1, 4);

const server = new RealServer(inject('mongoUri'));

afterAll(() => server[Symbol.asyncDispose]());

describe.each(KINDS)('documents of kind $rules.kind', ({ rules }) => {
  it('are changed and shown as on the real server, by every update and read of the library', async () => {
    const random = randomFrom(drawSeed(`interpreter, ${rules.kind}`));
    const tallies: Tally[] = [];
    for (let history = 0; history < HISTORIES; history += 1) tallies.push(await play(random));
    const tally = together(tallies);
    expectAgreement(tally);
    expect(tally.notSimulated).toBe(0);
    // Otherwise the comparison would prove little.
    expect(tally.changed).toBeGreaterThan(tally.compared / 3);
  });

  async function play(random: Random): Promise<Tally> {
    const startMs = Date.now();
    const names = Array.from({ length: DOCUMENTS }, (_, index) => `n${index}`);
    const drawn = names.flatMap((name) => drawDocument(random, rules, name, startMs) ?? []);
    await server.store(drawn);
    const tallies: Tally[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const updates = names.map((name) => {
        const clockMs = random.percent(60) ? random.pick(clocksOf(startMs)) : undefined;
        return { name, clockMs, update: drawUpdate(random, rules, name, clockMs ?? startMs) };
      });
      tallies.push(await compareStatements(server, await server.all(), updates));
      const fields = drawProjection(random, rules);
      tallies.push(await compareReads(fields, random.pick(clocksOf(startMs))));
    }
    return together(tallies);
  }
});

/** Reads all documents by this projection on both servers. */
async function compareReads(fields: Fields, clockMs: number): Promise<Tally> {
  // A read may leave out the name, so it asks for it under another one.
  const named = { ...fields, name: '$_id' };
  const [stored, shown] = await Promise.all([
    server.all(),
    server.all(atClock(named, new Date(clockMs)) as Document, 'name'),
  ]);
  const own = fromDriver(named) as DocumentValue;
  return together(
    [...stored].map(([name, document]) => {
      const real = { document: shown.get(name) ?? new Map() };
      const outcome = simulated(() => project(document, own, clockMs));
      return compared(document, real, outcome, () =>
        difference(document, { fields, clockMs }, real, outcome),
      );
    }),
  );
}
