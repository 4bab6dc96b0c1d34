import type { Db } from 'mongodb';
import type { MemoryReplicaSet } from '../../../src/testing/index.js';
import { byBreadth } from '../../support/breadth.js';

/** What befalls the first process or the whole set. */
export interface Fault {
  readonly what: string;
  /** What at least one process reports then; `undefined`: nothing in particular. */
  readonly reported: RegExp | undefined;
  readonly begin: (set: MemoryReplicaSet, db: Db) => void;
  readonly end?: (set: MemoryReplicaSet, db: Db) => void;
}

const FAULTS_OF_THE_QUICK_RUN: readonly Fault[] = [
  {
    what: 'a failover',
    reported: /not primary|is the primary now|stepped down/,
    begin: (set) => {
      set.stepDown();
    },
  },
  {
    what: 'lost replies',
    reported: /no answer within/,
    begin: (set) => {
      set.loseReplies(3);
    },
  },
];

const OTHER_FAULTS: readonly Fault[] = [
  {
    what: 'a partition',
    reported: /no answer within/,
    begin: (set, db) => {
      set.cut(db);
    },
    end: (set, db) => {
      set.heal(db);
    },
  },
  {
    what: 'a pause of a process',
    reported: undefined,
    begin: (set, db) => {
      set.freeze(db);
    },
    end: (set, db) => {
      set.thaw(db);
    },
  },
  {
    what: 'a failover that loses what no majority has',
    reported: /is the primary now|stepped down/,
    begin: (set) => {
      set.stepDown({ losesUnacknowledged: true, electionMs: 500 });
    },
  },
  {
    what: 'late replies',
    reported: undefined,
    begin: (set) => {
      set.delayReplies(700);
    },
    end: (set) => {
      set.delayReplies(0);
    },
  },
  {
    what: 'a stop of all members',
    reported: /ECONNREFUSED|connection was closed/,
    begin: (set) => {
      set.stop();
    },
    end: (set) => {
      set.start();
    },
  },
  {
    what: 'broken streams',
    reported: /cursor was killed/,
    begin: (set) => {
      set.breakStreams();
    },
  },
  {
    what: 'a step of the server’s clock',
    reported: undefined,
    begin: (set) => {
      set.skewClock(800);
    },
  },
];

export const FAULTS: readonly Fault[] = [...FAULTS_OF_THE_QUICK_RUN, ...byBreadth([], OTHER_FAULTS)];
