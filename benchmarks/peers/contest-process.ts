// One of the processes that want the lock, through the library that it is told.
import { monotonicMs } from '../measure.js';
import { contend } from '../processes/contended.js';
import type { Hold, Pace, Span } from '../processes/contended.js';
import { serve } from '../remote-process.js';
import { LINE_UP } from './line-up.js';
import type { PeerName } from './line-up.js';
import type { Contender, Place } from './peer.js';

/** At the end of a block the waiting processes still get the lock, within this time unless something is broken. */
const END_TIMEOUT_MS = 20_000;

let contender: Contender | undefined;

const duties = {
  async connect(peer: PeerName, place: Place): Promise<void> {
    contender = await LINE_UP[peer].connect(place);
  },

  /** Wants the lock again and again until the span is over, then closes its connection. */
  async contend(span: Span, pace: Pace): Promise<readonly Hold[]> {
    const own = contender;
    if (own === undefined) throw new Error('connect was not called');
    // The end of this process fails the call in the other one.
    const tooLong = setTimeout(() => process.exit(1), span.toMs - monotonicMs() + END_TIMEOUT_MS);
    const holds = await contend(() => own.acquire(), span, pace);
    await own.close();
    clearTimeout(tooLong);
    return holds;
  },

  /** Every block closes its own connection. */
  close: () => Promise.resolve(),
};

export type ContestDuties = typeof duties;

serve(duties);
