/** A run begins. */
export interface JobRunEvent {
  /** The instant of the schedule that it was claimed for, in the server's time. */
  readonly firedAt: Date;
  /** The token of the term. */
  readonly fencingToken: number;
}

/** A run has ended well. */
export interface JobCompletedEvent {
  /** The instant of the run. */
  readonly firedAt: Date;
  /** From its beginning to its end, in ms. */
  readonly tookMs: number;
}

/** A run has failed, or could not be claimed; the schedule goes on. */
export interface JobFailedEvent {
  /** The instant of the run. */
  readonly firedAt: Date;
  /** What the run threw, or what kept it from being claimed. */
  readonly error: unknown;
}

/** There were instants at which no run could start. Each is told of once in the fleet. */
export interface JobMissedEvent {
  /** How many. Of a cron job no more than 100 are counted. */
  readonly count: number;
  /** The oldest of them. */
  readonly first: Date;
  /** The newest of them: the one that `missed: 'run-once'` runs now. */
  readonly last: Date;
  /**
   * `overrun`: the leader was not done with the instant before, with its run or with a claim that took long. `no-leader`:
   * nobody led, or the leader could not do anything; or its term ended just then, or the job was stopped.
   */
  readonly why: 'no-leader' | 'overrun';
}

/** It is time for the next run, and the last one goes on; told once of each run. */
export interface JobOverrunEvent {
  /** The instant of the run that goes on. */
  readonly firedAt: Date;
  /** The first one that is missed by it. */
  readonly nextAt: Date;
}

/** The events of a `ScheduledJob`: one typed payload each, in the process that runs it. */
export interface ScheduledJobEvents {
  /** A run begins. */
  run: [JobRunEvent];
  /** A run has ended well. */
  completed: [JobCompletedEvent];
  /** A run has failed, or could not be claimed. */
  failed: [JobFailedEvent];
  /** There were instants at which no run could start. */
  missed: [JobMissedEvent];
  /** A run takes longer than the time to the next one. */
  overrun: [JobOverrunEvent];
}

/** How a term of a job reports. */
export type TellJob = <E extends keyof ScheduledJobEvents>(
  event: E,
  ...payload: ScheduledJobEvents[E]
) => void;
