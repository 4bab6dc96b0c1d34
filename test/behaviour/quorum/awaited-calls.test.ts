import { expect, it } from 'vitest';

import { runToEnd } from '../../../lab/processes/child.js';
import { inline } from '../../../lab/processes/program.js';

/** Answers after a while, by a timer that does not keep the process alive. */
const ANSWER = '() => new Promise((resolve) => setTimeout(() => resolve(true), 200).unref())';

/** A program that holds an upgradeable read of stores that answer late, awaits the call, and prints that it went on. */
const program = (call: string): string => `
  import { settled } from './lab/patience.js';
  import { MockQuorum } from './test/behaviour/quorum/mock-stores.js';
  const quorum = new MockQuorum();
  const lock = await quorum.lock.acquireUpgradeableRead();
  await settled();
  for (const { seats } of quorum.stores) {
    for (const seat of seats) {
      seat.answerToModeChange = seat.answerToConfirm = seat.answerToRelease = ${ANSWER};
    }
  }
  await lock.${call};
  console.log('gone on');`;

it.concurrent.each(['upgrade()', 'tryUpgrade()', "downgrade('read')", 'confirm()', 'release()'])(
  '%s of a hold keeps the process alive while it is awaited',
  async (call) => {
    // A process that ends while it awaits at its top level has exit code 13, and this rejects.
    const { stdout } = await runToEnd(inline(program(call)));
    expect(stdout.trim()).toBe('gone on');
  },
);
