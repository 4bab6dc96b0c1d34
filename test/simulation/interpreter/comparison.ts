import { BSON } from 'mongodb';
import type { Document } from 'mongodb';
import { expect } from 'vitest';

import { ServerError } from '../../../src/testing/server/errors/server-error.js';
import { NotSimulatedError } from '../../../src/testing/server/errors/server-error.js';
import { applyOperators, applyPipeline } from '../../../src/testing/server/updates.js';
import { fromDriver } from '../../../src/testing/server/values.js';
import type { DocumentValue } from '../../../src/testing/server/values.js';
import { atClock } from './clock-literals.js';
import { wordsOf } from './real-server.js';
import type { Outcome, RealServer } from './real-server.js';
import { textOf } from './value-text.js';

/** One update that both servers run. */
export interface Case {
  /** A `Map` keeps the order of fields whose names are numbers. */
  readonly document: Document | ReadonlyMap<string, unknown>;
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
  /** The documents that an update has changed, or of which a read shows a part. */
  readonly changed: number;
  readonly differences: readonly string[];
}

const NOTHING: Tally = { compared: 0, notSimulated: 0, failed: 0, changed: 0, differences: [] };

export const together = (tallies: readonly Tally[]): Tally =>
  tallies.reduce(
    (sum, { compared, notSimulated, failed, changed, differences }) => ({
      compared: sum.compared + compared,
      notSimulated: sum.notSimulated + notSimulated,
      failed: sum.failed + failed,
      changed: sum.changed + changed,
      differences: [...sum.differences, ...differences],
    }),
    NOTHING,
  );

/** An update of the document of this name. `clockMs`: the clock that both servers see, in place of the real one. */
export interface NamedCase {
  readonly name: string;
  readonly update: Case['update'];
  readonly clockMs?: number | undefined;
}

const withName = (name: string, document: Case['document']): Document =>
  new Map<string, unknown>([
    ['_id', name],
    ...(document instanceof Map ? (document as Map<string, unknown>) : Object.entries(document)),
  ]);

/** Runs each case on both servers, and describes each difference. */
async function compareUpdates(server: RealServer, cases: readonly Case[]): Promise<Tally> {
  const named = cases.map(({ document, update }, index) => ({ name: `n${index}`, document, update }));
  await server.store(named.map(({ name, document }) => withName(name, document)));
  return await compareStatements(server, await server.all(), named);
}

/** Runs each update on both servers. A document that is not among those before is created. */
export async function compareStatements(
  server: RealServer,
  before: ReadonlyMap<string, DocumentValue>,
  cases: readonly NamedCase[],
): Promise<Tally> {
  const sent = cases.map(({ name, update, clockMs }) => ({
    name,
    update: clockMs === undefined ? update : (atClock(update, new Date(clockMs)) as Case['update']),
  }));
  const { nowMs, outcomes } = await server.update(sent);
  return together(
    cases.map(({ name, update, clockMs = nowMs }, index) => {
      const real = outcomes[index];
      if (real === undefined) throw new Error(`no outcome of ${name}`);
      const stored = before.get(name);
      const document = stored ?? new Map([['_id', name]]);
      const own = simulated(() => updated(document, update, stored === undefined, clockMs));
      const words = (): string => difference(document, { update, clockMs }, real, own);
      return compared(document, real, own, words);
    }),
  );
}

export function compared(
  document: DocumentValue,
  real: Outcome,
  own: Outcome | undefined,
  words: () => string,
): Tally {
  if (own === undefined) return { ...NOTHING, notSimulated: 1 };
  const isAlike = wordsOf(own) === wordsOf(real);
  const isFailure = 'code' in real;
  const isChanged = !isFailure && textOf(document) !== wordsOf(real);
  const counts = { compared: 1, failed: isFailure ? 1 : 0, changed: isChanged ? 1 : 0 };
  return { ...NOTHING, ...counts, differences: isAlike ? [] : [words()] };
}

export function difference(
  document: DocumentValue,
  asked: object,
  real: Outcome,
  own: Outcome | undefined,
): string {
  return [
    `document ${textOf(document)}`,
    `asked    ${BSON.EJSON.stringify(asked, { relaxed: false })}`,
    `real     ${wordsOf(real)}`,
    `own      ${own === undefined ? 'not simulated' : wordsOf(own)}`,
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
  const tallies: Tally[] = [];
  for (let from = 0; from < count; from += BATCH) {
    const cases = Array.from({ length: Math.min(BATCH, count - from) }, (_, index) => draw(from + index));
    tallies.push(await compareUpdates(server, cases));
  }
  return together(tallies);
}

/** The most differences that a failure shows. */
const MAX_SHOWN = 3;

/** Fails with the shortest differences. Prints how much was compared. */
export function expectAgreement({ compared, notSimulated, failed, changed, differences }: Tally): void {
  console.log(`${compared} compared: ${changed} changes, ${failed} errors; not simulated: ${notSimulated}`);
  const shortest = [...differences].sort((a, b) => a.length - b.length).slice(0, MAX_SHOWN);
  expect(shortest.join('\n\n'), `${differences.length} differences`).toBe('');
}
