/** The states to which each state may change. */
export type Moves<S extends string> = Readonly<Record<S, readonly S[]>>;

/** The state of one object. Only a legal move changes it: every other one is a bug of the library, and throws. */
export class StateMachine<S extends string> {
  readonly #moves: Moves<S>;
  #now: S;

  constructor(first: S, moves: Moves<S>) {
    this.#now = first;
    this.#moves = moves;
  }

  get now(): S {
    return this.#now;
  }

  is(state: S): boolean {
    return this.#now === state;
  }

  to(state: S): void {
    if (!this.#moves[this.#now].includes(state)) throw new Error(`no move from ${this.#now} to ${state}`);
    this.#now = state;
  }
}
