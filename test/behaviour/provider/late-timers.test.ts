import { once } from 'node:events';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';

import { describe, expect, it } from 'vitest';

import { settled } from '../../../lab/patience.js';
import { systemClock } from '../../../src/clock.js';
import { whenTestEnds } from '../../support/current-test.js';

/** Answers on a port, in a thread of its own, and says so in `flag`: this thread may stand still meanwhile. */
const SERVER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const server = require('node:net').createServer((socket) => {
    socket.on('data', () => socket.write('answer', () => {
      Atomics.store(workerData, 0, 1);
      Atomics.notify(workerData, 0);
    }));
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

async function conversation() {
  const answered = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(SERVER, { eval: true, workerData: answered });
  whenTestEnds(async () => {
    await worker.terminate();
  });
  const [port] = (await once(worker, 'message')) as [number];
  const socket = connect(port, '127.0.0.1');
  whenTestEnds(() => {
    socket.destroy();
  });
  await once(socket, 'connect');
  socket.setNoDelay(true);
  return { socket, answered };
}

const noMessage = new Int32Array(new SharedArrayBuffer(4));

describe('a timer of a process that stood still', () => {
  it('fires after what has come meanwhile is read', async () => {
    const { socket, answered } = await conversation();
    const happened: string[] = [];
    socket.once('data', () => happened.push('the answer is read'));
    socket.write('question');
    const fired = new Promise<void>((resolve) => {
      systemClock.at(systemClock.nowMs() + 20, () => {
        happened.push('the timer fires');
        resolve();
      });
    });
    // The loop looks at its timers before its sockets when it goes on after this phase of the loop.
    setImmediate(() => {
      Atomics.wait(answered, 0, 0);
      Atomics.wait(noMessage, 0, 0, 100);
    });
    await fired;
    expect(happened).toEqual(['the answer is read', 'the timer fires']);
  });

  it('does not fire if what is read cancels it', async () => {
    let hasFired = false;
    const timer = systemClock.at(systemClock.nowMs() + 1, () => (hasFired = true));
    setImmediate(() => {
      Atomics.wait(noMessage, 0, 0, 100);
      // Behind the timer, and before the turn in which it fires.
      setTimeout(() => {
        timer.cancel();
      }, 0);
      Atomics.wait(noMessage, 0, 0, 5);
    });
    for (let turn = 0; turn < 5; turn += 1) await settled();
    expect(hasFired).toBe(false);
  });
});
