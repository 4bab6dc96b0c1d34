import type { Moment } from '../../clock.js';
import type { Heard } from '../../observer.js';
import type { LeaseDurations } from '../../options/provider-options.js';
import type { Reply } from '../../protocol/replies/reply.js';
import type { KindRules } from '../../protocol/kind-rules.js';

/** The facts of an attempt that waits. */
export interface Waiting {
  readonly name: string;
  readonly rules: KindRules;
  readonly id: string;
  readonly durations: LeaseDurations;
  /**
   * Whether the attempt already holds a lease and waits for an upgrade. If so, a grant that arrives after the end of
   * the wait belongs to that lease, and must not be given back.
   */
  readonly hasLease: boolean;
}

/**
 * An attempt that waits. The waiting room calls the methods. When the wait ends, one of `granted`, `lapsed` and
 * `failed` is called once. None of them is called if the attempt leaves earlier. If the waiting room closes during the
 * wait, perhaps none of them is called.
 */
export interface Wait extends Waiting {
  granted(token: number, deadline: Moment): void;
  /** Called before `granted`. For telemetry. */
  heard?(heard: Heard): void;
  /** The place in the queue, or the pending upgrade, is gone. A request then makes a new attempt under a new id. */
  lapsed(): void;
  failed(error: unknown): void;
  /**
   * Called when the reply to the attempt's own request or to a look shows the attempt in the queue, or its upgrade as
   * pending (place 0).
   */
  placed(place: number, reply: Reply): void;
}
