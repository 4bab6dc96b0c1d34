import { randomFrom } from '../../../lab/random.js';
import type { Random } from '../../../lab/random.js';
import type { MemoryReplicaSet } from '../../../src/testing/index.js';
import type { Excuse, RunLine } from '../../faults/history.js';
import type { FaultKind, FaultStep } from '../plan/plan.js';
import { scattered } from '../plan/scattered.js';
import type { MemoryJournal } from './memory-journal.js';
import { DATABASE, LOCKS } from './names.js';
import type { SimulatedWorker } from './simulated-worker.js';
import type { Wire } from './wire.js';

/** What one fault befalls. */
export interface Target {
  readonly step: FaultStep;
  readonly set: MemoryReplicaSet;
  readonly wire: Wire;
  readonly worker: SimulatedWorker;
  /** All sets, in the order in which processes have databases in them. */
  readonly sets: readonly MemoryReplicaSet[];
  readonly journal: MemoryJournal<RunLine>;
}

/** How one kind of fault begins and ends. */
interface Effect {
  /** @param isFirst - Whether no other fault of this kind befalls the same set or process. */
  begin(target: Target, isFirst: boolean): void;
  /** Called when the last of the faults of this kind ends. */
  end?(target: Target): void;
  readonly excuses?: readonly Excuse[];
}

export const EFFECTS: Readonly<Record<FaultKind, Effect>> = {
  'all members stop': {
    begin: ({ set }, isFirst) => {
      if (isFirst) set.stop();
    },
    end: ({ set }) => {
      set.start();
    },
  },
  'the primary steps down': {
    begin: ({ set, step }) => {
      set.stepDown({ electionMs: step.forMs });
    },
  },
  'the primary is cut off from the other members': {
    begin: ({ set, step }) => {
      set.stepDown({ electionMs: step.forMs, losesUnacknowledged: true });
    },
  },
  'the clock of the primary is moved': {
    begin: ({ set, step }) => {
      set.skewClock(step.amount);
    },
  },
  'replies are late': {
    begin: ({ set, step }) => {
      set.delayReplies(step.amount);
    },
    end: ({ set }) => {
      set.delayReplies(0);
    },
  },
  'replies are lost': {
    begin: ({ set, step }) => {
      set.loseReplies(step.amount);
    },
    end: ({ set }) => {
      set.loseReplies(0);
    },
  },
  'change streams break': {
    begin: ({ set }) => {
      set.breakStreams();
    },
  },
  'a process stands still': {
    begin: (target, isFirst) => {
      if (isFirst && !target.worker.isKilled) freeze(target);
    },
    end: (target) => {
      if (!target.worker.isKilled) thaw(target);
    },
  },
  'a process is cut off': {
    begin: (target, isFirst) => {
      if (isFirst) cut(target, () => true);
    },
    end: (target) => {
      heal(target);
    },
  },
  'a process crashes': { begin: crash },
  'requests come late': {
    begin: ({ wire, step }) => {
      wire.hold(step.amount);
    },
    end: ({ wire }) => {
      wire.deliver();
    },
  },
  'requests are lost': {
    begin: ({ wire, step }) => {
      wire.lose(step.amount);
    },
    end: ({ wire }) => {
      wire.lose(0);
    },
  },
  'lock documents are lost': {
    begin: ({ wire }) => {
      const locks = wire.messenger.client.db(DATABASE).collection(LOCKS);
      // While there is no primary, nothing can be deleted.
      locks.deleteMany({}).catch(() => undefined);
    },
    excuses: ['exclusion'],
  },
  'the primary is cut off from the other members, and reports it': {
    begin: ({ set, wire, step }) => {
      wire.acknowledge(false);
      set.stepDown({ electionMs: step.forMs, losesUnacknowledged: true });
    },
    end: ({ wire }) => {
      wire.acknowledge(true);
    },
  },
  'requests come twice': {
    begin: ({ wire, step }) => {
      wire.double(step.amount, randomOf(step));
    },
    end: ({ wire }) => {
      wire.doubleNoMore();
    },
  },
  'change streams are silent': {
    begin: ({ wire }, isFirst) => {
      if (isFirst) wire.streams.fallSilent();
    },
    end: ({ wire }) => {
      wire.streams.speak();
    },
  },
  // The collection is dropped or emptied when the fault begins. The documents of the copy come when it ends.
  'an old copy is restored': {
    begin: ({ set, wire, step }) => {
      wire.restore.begin(set.now().getTime() - step.amount, randomOf(step).percent(50));
    },
    end: ({ wire }) => {
      wire.restore.end();
    },
  },
  'a process reaches one replica set only': {
    begin: (target, isFirst) => {
      if (isFirst) cut(target, (set) => set !== target.set);
    },
    end: (target) => {
      heal(target);
    },
  },
};

/** Chance that the plan decides. */
const randomOf = ({ atMs, forMs, amount }: FaultStep): Random =>
  randomFrom(scattered(atMs ^ (forMs << 8) ^ (amount << 16)));

function freeze(target: Target): void {
  const { worker, journal } = target;
  journal.write({ type: 'worker stands', worker: worker.number });
  forEachSet(target, (set, db) => {
    set.freeze(db);
  });
}

function thaw(target: Target): void {
  const { worker, journal } = target;
  forEachSet(target, (set, db) => {
    set.thaw(db);
  });
  journal.write({ type: 'worker goes on', worker: worker.number });
}

function cut(target: Target, isCut: (set: MemoryReplicaSet) => boolean): void {
  forEachSet(target, (set, db) => {
    if (isCut(set)) set.cut(db);
  });
}

function heal(target: Target): void {
  if (target.worker.isKilled) return;
  forEachSet(target, (set, db) => {
    set.heal(db);
  });
}

/** Nothing of this process goes on, and nobody hears of it again. */
function crash(target: Target): void {
  const { worker, journal } = target;
  if (worker.isKilled) return;
  worker.isKilled = true;
  journal.write({ type: 'worker killed', worker: worker.number });
  forEachSet(target, (set, db) => {
    set.freeze(db);
    set.cut(db);
  });
}

type Db = SimulatedWorker['dbs'][number];

function forEachSet({ sets, worker }: Target, act: (set: MemoryReplicaSet, db: Db) => void): void {
  for (const [index, db] of worker.dbs.entries()) {
    const set = sets[index];
    if (set !== undefined) act(set, db);
  }
}
