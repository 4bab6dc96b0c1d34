import { after } from '../../clock.js';
import type { Moment } from '../../clock.js';
import type { GrantNews } from '../../observer.js';
import { leftMs } from '../../protocol/lock-document.js';
import type { Place, Reply } from '../../protocol/replies/reply.js';
import { LOOK_AGAIN } from '../../protocol/wake.js';
import { deadlineBefore } from '../deadline.js';
import type { Wait } from './wait.js';

const LONG_AGO: Moment = { ms: -Infinity, wallAheadMs: 0 };

/**
 * One wait, as far as its process knows: which grants are for the wait, and when its place in the queue ends. Replies,
 * reads and events may arrive in any order.
 */
export class TrackedWait {
  readonly wait: Wait;
  /**
   * When the process learned that the attempt is in the queue; `Infinity` while the attempt's own request is in flight.
   */
  queuedAtMs: number;
  /** The place that the last answer showed. A poll can only lower this number. */
  place: number;
  /** The highest fence in a reply that showed the attempt queued. */
  #fenceWhenQueued = 0;
  /** The highest token of a grant that was reported before the reply to the attempt's own request. */
  #earlyToken = 0;
  #earlyNews: GrantNews | undefined;
  #isLookAskedEarly = false;
  /**
   * The earliest instant at which the place or the granted lease can end, as far as answers have shown. An answer
   * shows how much time is left. That time is counted from the sending of the request to which the answer belongs.
   */
  #endsAt: Moment = LONG_AGO;

  constructor(wait: Wait) {
    this.wait = wait;
    this.queuedAtMs = Infinity;
    this.place = Infinity;
  }

  /**
   * Whether a grant with this token is for this wait. A grant that is reported under the id of the wait may be an
   * earlier one, for example that of a lease that now waits for an upgrade. Tokens rise in the order of the grants
   * (S3), so a token above the fence of every reply that showed the attempt queued belongs to a later grant.
   */
  isGrantedBy(token: number): boolean {
    return token > this.#fenceWhenQueued;
  }

  /**
   * Called when a word for this attempt arrives before the reply to the attempt's own request. The token `LOOK_AGAIN`
   * asks for a look.
   */
  heardEarly(token: number, news: GrantNews): void {
    if (token > this.#earlyToken) this.#earlyNews = news;
    this.#earlyToken = Math.max(this.#earlyToken, token);
    this.#isLookAskedEarly ||= token === LOOK_AGAIN;
  }

  /** The grant for this wait that was reported early; `undefined` if there is none. */
  get earlyGrant(): { readonly token: number; readonly news: GrantNews } | undefined {
    const [token, news] = [this.#earlyToken, this.#earlyNews];
    return news !== undefined && this.isGrantedBy(token) ? { token, news } : undefined;
  }

  get isLookAskedEarly(): boolean {
    return this.#isLookAskedEarly;
  }

  /**
   * Called when the reply to the attempt's own request or to a look, sent at `sentAt`, showed the attempt in the queue.
   */
  shownQueued({ expiresAt }: Place, { fence, nowMs }: Reply, sentAt: Moment): void {
    this.#fenceWhenQueued = Math.max(this.#fenceWhenQueued, fence);
    const endsAt = after(sentAt, leftMs(expiresAt, nowMs, this.wait.durations.leaseMs));
    if (endsAt.ms > this.#endsAt.ms) this.#endsAt = endsAt;
  }

  /** Called when an answer showed a lease of the attempt, which ends at `endsAt` or later. */
  shownGranted(endsAt: Moment): void {
    this.#endsAt = endsAt;
  }

  /**
   * The deadline of the hold after a grant, as far as answers have shown. The event of a grant does not show the
   * expiry, but the granted seat keeps the expiry of the place.
   */
  get deadline(): Moment {
    return deadlineBefore(this.#endsAt, this.wait.durations);
  }
}
