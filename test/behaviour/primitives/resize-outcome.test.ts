import { expect, it } from 'vitest';

import { StoreUnavailableError } from '../../../src/errors.js';
import type { LeaseContext } from '../../../src/lease/acquiring/lease-context.js';
import { SemaphoreLimit } from '../../../src/primitives/semaphore-limit.js';
import type { Outcome } from '../../../src/store/outcome.js';
import { ServerClock } from '../../../src/store/server-clock.js';
import { later, rejection, settled } from '../../../lab/patience.js';
import { ManualClock } from '../../support/manual-clock.js';

const unanswered: Outcome<never> = { type: 'unknown', error: new Error('no answer'), maybeApplied: true };
const notSent: Outcome<never> = { type: 'unknown', error: new Error('no connection'), maybeApplied: false };
const refused: Outcome<never> = { type: 'refused', error: new Error('not authorized'), byServer: true };

it.each([
  ['says that the outcome is unknown if an earlier copy was not answered', [unanswered, notSent], false],
  ['says so also if a later copy is refused', [unanswered, refused], false],
  ['says that nothing was changed if no copy was sent', [notSent, notSent], true],
] as const)('a resize that fails %s', async (_, outcomes, outcomeKnown) => {
  const clock = new ManualClock();
  const answers = [...outcomes];
  const context = {
    clock,
    closing: new AbortController().signal,
    settings: { storeTimeoutMs: 1_000 },
    collection: { serverClock: new ServerClock(clock), handshake: () => Promise.resolve({ type: 'done' }) },
    combiner: { submit: () => ({ outcome: Promise.resolve(answers.shift() ?? notSent) }) },
  };
  const limit = new SemaphoreLimit(context as unknown as LeaseContext, 's', 1, 'throw');
  const resizing = later(limit.resize(2));
  for (let steps = 0; steps < 40; steps += 1) {
    await settled();
    clock.advance(100);
  }
  const error = await rejection(resizing);
  expect(error).toBeInstanceOf(StoreUnavailableError);
  expect(error).toMatchObject({ outcomeKnown });
});
