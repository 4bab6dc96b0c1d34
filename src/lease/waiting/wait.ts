import type { Moment } from '../../clock.js';
import type { LeaseTerms } from '../../options/provider-options.js';
import type { Reply } from '../../protocol/replies/reply.js';
import type { Seats } from '../../protocol/seats.js';

/** One attempt that waits. It is told once how its wait ended, by `granted`, `lapsed` or `failed`. */
export interface Wait {
  readonly name: string;
  readonly seats: Seats;
  readonly id: string;
  readonly terms: LeaseTerms;
  /** Whether it waits with a lease, for more: then what is granted after its end is no leftover to be given back. */
  readonly hasLease: boolean;
  granted(token: number, deadline: Moment): void;
  /** The place in the queue is gone: the attempt has to be made anew, under a new id. */
  lapsed(): void;
  failed(error: unknown): void;
  /** Where it stands, after each look. */
  placed(place: number, reply: Reply): void;
}
