import type { Moment } from '../../clock.js';
import type { Heard } from '../../observer.js';
import type { LeaseDurations } from '../../options/provider-options.js';
import type { Reply } from '../../protocol/replies/reply.js';
import type { KindRules } from '../../protocol/kind-rules.js';
import type { Wait, Waiting } from './wait.js';

/** How the wait of one attempt ended. */
export type Turn =
  | {
      readonly type: 'granted';
      readonly token: number;
      readonly deadline: Moment;
      /** How the waiting room heard of the grant; not set if this result was read from a reply without the room. */
      readonly heard?: Heard | undefined;
    }
  /**
   * The place in the queue, or the pending upgrade, is gone. A request then makes a new attempt under a new id; an
   * upgrade asks again under the id of its hold.
   */
  | { readonly type: 'lapsed' }
  | { readonly type: 'failed'; readonly error: unknown };

/** The wait of one attempt in the waiting room, as a promise of its end. */
export class TurnWait implements Wait {
  readonly name: string;
  readonly rules: KindRules;
  readonly id: string;
  readonly durations: LeaseDurations;
  readonly hasLease: boolean;
  /**
   * Resolves when the wait has ended. Stays pending if the attempt leaves first, and may stay pending if the room
   * closes first. Never rejects.
   */
  readonly turn: Promise<Turn>;
  readonly #onPlaced: (place: number, reply: Reply) => void;
  #heard: Heard | undefined;
  #end!: (turn: Turn) => void;

  /**
   * @param onPlaced - Called when the reply to the attempt's own request or to a look shows the attempt in the queue,
   *   or its upgrade as pending (place 0).
   */
  constructor(
    { name, rules, id, durations, hasLease }: Waiting,
    onPlaced: (place: number, reply: Reply) => void,
  ) {
    this.name = name;
    this.rules = rules;
    this.id = id;
    this.durations = durations;
    this.hasLease = hasLease;
    this.#onPlaced = onPlaced;
    this.turn = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  heard(heard: Heard): void {
    this.#heard = heard;
  }

  granted(token: number, deadline: Moment): void {
    this.#end({ type: 'granted', token, deadline, heard: this.#heard });
  }

  lapsed(): void {
    this.#end({ type: 'lapsed' });
  }

  failed(error: unknown): void {
    this.#end({ type: 'failed', error });
  }

  placed(place: number, reply: Reply): void {
    this.#onPlaced(place, reply);
  }
}
