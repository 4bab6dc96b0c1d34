/** The states to which each state may change. */
export type Moves<S extends string> = Readonly<Record<S, readonly S[]>>;

/** Throws if the move is not one of `moves`: such a move is a bug of the library. */
export function assertMove<S extends string>(moves: Moves<S>, from: S, to: S): void {
  if (!moves[from].includes(to)) throw new Error(`no move from ${from} to ${to}`);
}

/** The state of one object. It changes only by the given moves. */
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
    assertMove(this.#moves, this.#now, state);
    this.#now = state;
  }
}
