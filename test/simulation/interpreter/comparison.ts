import { writeFileSync } from 'node:fs';
import { BSON } from 'mongodb';
import type { Document } from 'mongodb';
import { expect } from 'vitest';

import { ServerError } from '../../../src/testing/server/server-error.js';
import { NotSimulatedError } from '../../../src/testing/server/server-error.js';
import { applyOperators, applyPipeline } from '../../../src/testing/server/updates.js';
import { fromDriver } from '../../../src/testing/server/values.js';
import type { DocumentValue } from '../../../src/testing/server/values.js';
import { wordsOf } from './real-server.js';
import type { Outcome, RealServer } from './real-server.js';

/** One update that both servers run. */
export interface Case {
  readonly document: Document;
  readonly update: Document | readonly Document[];
}

/** How the simulated server ends it; `undefined`: it does not simulate the update. */
export function simulated(compute: () => DocumentValue): Outcome | undefined {
  try {
    return { document: compute() };
  } catch (error) {
    if (error instanceof NotSimulatedError) return undefined;
    if (error instanceof ServerError) return { code: error.code };
    throw error;
  }
}

export function updated(
  document: DocumentValue,
  update: Case['update'],
  isInsert: boolean,
  nowMs: number,
): DocumentValue {
  const value = fromDriver(update);
  return Array.isArray(value)
    ? applyPipeline(document, value as never, nowMs)
    : applyOperators(document, value as DocumentValue, isInsert, nowMs);
}

/** What a batch has shown. */
export interface Tally {
  readonly compared: number;
  readonly notSimulated: number;
  readonly failed: number;
  readonly differences: readonly string[];
}

/** Runs each case on both servers, and describes each difference. */
export async function compareUpdates(server: RealServer, cases: readonly Case[]): Promise<Tally> {
  const named = cases.map(({ document, update }, index) => ({ name: `n${index}`, document, update }));
  await server.store(named.map(({ name, document }) => ({ _id: name, ...document })));
  const before = await server.all();
  const { nowMs, outcomes } = await server.update(named);
  const differences: string[] = [];
  let [notSimulated, failed] = [0, 0];
  for (const [index, { name, update, document }] of named.entries()) {
    const real = outcomes[index];
    const stored = before.get(name);
    if (real === undefined || stored === undefined) throw new Error(`no outcome of ${name}`);
    const own = simulated(() => updated(stored, update, false, nowMs));
    if (own === undefined) notSimulated += 1;
    else if (wordsOf(own) !== wordsOf(real)) differences.push(difference(document, update, real, own));
    if ('code' in real) failed += 1;
  }
  return { compared: cases.length - notSimulated, notSimulated, failed, differences };
}

function difference(document: Document, update: Case['update'], real: Outcome, own: Outcome): string {
  return [
    `document ${BSON.EJSON.stringify(document, { relaxed: false })}`,
    `update   ${BSON.EJSON.stringify({ update }, { relaxed: false })}`,
    `real     ${wordsOf(real)}`,
    `own      ${wordsOf(own)}`,
  ].join('\n');
}

/** The updates that one command sends. */
const BATCH = 500;

/** Compares this many cases, a batch at a time. */
export async function compareAll(
  server: RealServer,
  count: number,
  draw: (index: number) => Case,
): Promise<Tally> {
  let [compared, notSimulated, failed] = [0, 0, 0];
  const differences: string[] = [];
  for (let from = 0; from < count; from += BATCH) {
    const cases = Array.from({ length: Math.min(BATCH, count - from) }, (_, index) => draw(from + index));
    const tally = await compareUpdates(server, cases);
    compared += tally.compared;
    notSimulated += tally.notSimulated;
    failed += tally.failed;
    differences.push(...tally.differences);
  }
  return { compared, notSimulated, failed, differences };
}

/** The most differences that a failure shows. */
const MAX_SHOWN = 3;

/** Fails with the shortest differences. Prints how much was compared. */
export function expectAgreement({ compared, notSimulated, failed, differences }: Tally): void {
  console.log(`${compared} compared, ${failed} of them errors; ${notSimulated} not simulated`);
  const shortest = [...differences].sort((a, b) => a.length - b.length).slice(0, MAX_SHOWN);
  if (process.env['DUMP'])
    writeFileSync(
      `${process.env['DUMP']}${compared}`,
      [...differences].sort((a, b) => a.length - b.length).join('\n\n'),
    );
  expect(shortest.join('\n\n'), `${differences.length} differences`).toBe('');
}
