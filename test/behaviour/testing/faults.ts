import type { Db } from 'mongodb';
import type { MemoryReplicaSet } from '../../../src/testing/index.js';

/** What befalls the first process or the whole set. */
export interface Fault {
  readonly what: string;
  readonly begin: (set: MemoryReplicaSet, db: Db) => void;
  readonly end?: (set: MemoryReplicaSet, db: Db) => void;
}

export const FAULTS: readonly Fault[] = [
  {
    what: 'a failover',
    begin: (set) => {
      set.stepDown();
    },
  },
  {
    what: 'a failover that loses what no majority has',
    begin: (set) => {
      set.stepDown({ losesUnacknowledged: true, electionMs: 500 });
    },
  },
  {
    what: 'lost replies',
    begin: (set) => {
      set.loseReplies(3);
    },
  },
  {
    what: 'late replies',
    begin: (set) => {
      set.delayReplies(700);
    },
    end: (set) => {
      set.delayReplies(0);
    },
  },
  {
    what: 'a partition',
    begin: (set, db) => {
      set.cut(db);
    },
    end: (set, db) => {
      set.heal(db);
    },
  },
  {
    what: 'a pause of a process',
    begin: (set, db) => {
      set.freeze(db);
    },
    end: (set, db) => {
      set.thaw(db);
    },
  },
  {
    what: 'a stop of all members',
    begin: (set) => {
      set.stop();
    },
    end: (set) => {
      set.start();
    },
  },
  {
    what: 'broken streams',
    begin: (set) => {
      set.breakStreams();
    },
  },
  {
    what: 'a step of the server’s clock',
    begin: (set) => {
      set.skewClock(800);
    },
  },
];
