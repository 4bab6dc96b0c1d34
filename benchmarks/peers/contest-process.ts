// One of the processes that want the lock, through whichever library it is told.
import { serve } from '../remote-process.js';
import { monotonicMs, sleep } from '../worker-process.js';
import { LINE_UP } from './line-up.js';
import type { PeerName } from './line-up.js';
import type { Contender, Place } from './peer.js';

/** When a block is measured, on the clock that the processes share; what comes before warms up. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** One hold; `releasedMs` is the moment just before the release call. */
export interface Hold {
  readonly askedMs: number;
  readonly grantedMs: number;
  readonly releasedMs: number;
}

/** Whoever still waits at the end of a block is let through, unless something has gone wrong. */
const END_TIMEOUT_MS = 20_000;

let contender: Contender | undefined;

const duties = {
  async connect(peer: PeerName, place: Place): Promise<void> {
    contender = await LINE_UP[peer].connect(place);
  },

  /** Wants the lock again and again until the span is over, then parts with the server. */
  async contend(span: Span, holdMs: number, thinkMs: number): Promise<readonly Hold[]> {
    if (contender === undefined) throw new Error('told to contend before it is connected');
    // Whoever waits for its answer is told that there is none.
    const tooLong = setTimeout(() => process.exit(1), span.toMs - monotonicMs() + END_TIMEOUT_MS);
    const holds: Hold[] = [];
    while (monotonicMs() < span.toMs) {
      const askedMs = monotonicMs();
      const release = await contender.acquire();
      const grantedMs = monotonicMs();
      await sleep(holdMs);
      const releasedMs = monotonicMs();
      await release();
      holds.push({ askedMs, grantedMs, releasedMs });
      await sleep(thinkMs);
    }
    await contender.close();
    clearTimeout(tooLong);
    return holds;
  },
};

export type ContestDuties = typeof duties;

serve(duties);
