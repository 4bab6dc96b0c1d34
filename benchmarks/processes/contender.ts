// A process that wants one lock all the time, or takes part in the bare turn-taking that is the floor of that.
import { takeTurns } from '../floor.js';
import type { TurnTaker, TurnTakerOptions, Turns } from '../floor.js';
import { monotonicMs, sleep } from '../measure.js';
import { LIBRARIES } from '../peers/libraries.js';
import type { LibraryName } from '../peers/libraries.js';
import type { Contender } from '../peers/library.js';
import { connectedPlace, newClient } from './connections.js';
import type { Place } from './connections.js';
import type { Hold, SentCommand, Span } from './holds.js';

export interface Pace {
  readonly holdMs: number;
  readonly thinkMs: number;
}

/** The holds of one process, and its commands if they were counted. */
export interface Contended {
  readonly holds: readonly Hold[];
  readonly commands: readonly SentCommand[];
}

/** The one lock that all processes want. */
const LOCK_NAME = 'contended';

/** At the end of a block the waiting processes still get the lock, within this time unless something is broken. */
const END_TIMEOUT_MS = 20_000;

let own: Contender | undefined;
let commands: SentCommand[] = [];
let turnTaker: TurnTaker | undefined;

export const contender = {
  /** Connects to the server of a library. The connections are new ones, so that no block disturbs the next one. */
  async join(library: LibraryName, place: Place, countsCommands: boolean): Promise<void> {
    commands = [];
    const note = (name: string): unknown => commands.push({ name, atMs: monotonicMs() });
    own = await LIBRARIES[library].connect(place, countsCommands ? note : undefined);
  },

  /** Acquires and releases again and again until the span is over, then closes the connections. */
  async contend({ toMs }: Span, { holdMs, thinkMs }: Pace): Promise<Contended> {
    if (own === undefined) throw new Error('join was not called');
    // The end of this process fails the call in the other one.
    const tooLong = setTimeout(() => process.exit(1), toMs - monotonicMs() + END_TIMEOUT_MS);
    const holds: Hold[] = [];
    while (monotonicMs() < toMs) {
      const askedMs = monotonicMs();
      const release = await own.acquire(LOCK_NAME);
      const grantedMs = monotonicMs();
      await sleep(holdMs);
      const releasedMs = monotonicMs();
      await release();
      holds.push({ askedMs, grantedMs, releasedMs });
      await sleep(thinkMs);
    }
    const sent = [...commands];
    await own.close();
    clearTimeout(tooLong);
    return { holds, commands: sent };
  },

  /** Opens a change stream and waits for its turn. */
  async listen(options: TurnTakerOptions): Promise<void> {
    const { uri, dbName } = connectedPlace();
    turnTaker = await takeTurns(newClient(uri).db(dbName), options);
  },

  /** Passes the turn on until the time is over. */
  async bounce({ toMs }: Span, begins: boolean): Promise<Turns> {
    if (turnTaker === undefined) throw new Error('listen was not called');
    if (begins) await turnTaker.pass(0);
    await sleep(toMs - monotonicMs());
    return await turnTaker.stop();
  },
};
