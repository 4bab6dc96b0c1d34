import { setMaxListeners } from 'node:events';
import { Inspector } from './admin/inspector.js';
import { within } from './clock.js';
import type { Clock, Moment } from './clock.js';
import type { DriverDb } from './driver-types.js';
import type { Elections } from './election/elections.js';
import { LeaderWatch } from './election/leader-watch.js';
import { ProviderClosedError } from './errors.js';
import type { Report } from './events.js';
import { judge } from './health.js';
import type { LockProviderHealth } from './health.js';
import { keepAlive } from './keep-alive.js';
import {
  LEAST_POOL_TO_OBSERVE,
  LEAST_POOL_TO_OVERSEE,
  observerSettings,
  settingsFor,
} from './options/pool-settings.js';
import { Observation } from './observation.js';
import { Holds } from './lease/holding/holds.js';
import { KeeperWatch } from './lease/seat-cache/keeper-watch.js';
import { SeatCache } from './lease/seat-cache/seat-cache.js';
import { LeaseExtender } from './lease/holding/lease-extender.js';
import { LeaseMonitor } from './lease/holding/lease-monitor.js';
import { Poller } from './lease/waiting/poller.js';
import { ReleaseQueue } from './lease/holding/release-queue.js';
import { WaitingRoom } from './lease/waiting/waiting-room.js';
import type { UnmatchedWakeups } from './lease/waiting/waiting-room.js';
import type { Settings } from './options/provider-options.js';
import { Requester } from './primitives/requester.js';
import { KINDS, KINDS_BY_LEASE_FIELDS } from './protocol/kinds/lock-kinds.js';
import type { LockSnapshot } from './protocol/replies/snapshot.js';
import { Combiner } from './store/updates/combiner.js';
import type { Answer } from './store/updates/combiner.js';
import { Committer } from './store/updates/committer.js';
import { LockCollection } from './store/lock-collection.js';
import type { Outcome } from './store/outcome.js';
import { PurgeIndex } from './store/purge-index.js';
import { WakeStream } from './store/streams/wake-stream.js';
import { surroundingsOf } from './surroundings.js';

/** Something that ends with its provider. */
export interface Attachment {
  close(): Promise<void>;
}

/** Creates, connects and ends the parts behind one provider. */
export class Engine {
  /** `host:pid:random`. */
  readonly processId: string;
  readonly settings: Settings;
  readonly requester: Requester;
  readonly inspector: Inspector;
  readonly elections: Elections;
  /** Tells observers what this engine does. */
  readonly observation: Observation;
  /**
   * The claims in flight, each for one fire of a node-cron task. `close` awaits them for at most `drainMs`: only this
   * process can run a fire that it claimed.
   */
  readonly fireClaims: Set<Promise<boolean>> = new Set<Promise<boolean>>();
  /** The parts that other entry points of the package have opened on this provider. `close` closes them. */
  readonly attached: Set<Attachment> = new Set<Attachment>();
  /** Aborts when the drain of `close` is over: everything has ended, or `drainMs` has passed. */
  readonly drained: AbortController = new AbortController();
  /**
   * The settings for a second change stream, which watches leaders or the awaited locks of a quorum. If the connection
   * pool is too small for that stream, these settings demand polling.
   */
  readonly observing: Settings;
  /**
   * The settings for a third change stream, which watches the whole collection for a dashboard. If the connection pool
   * is too small for that stream, these settings demand polling.
   */
  readonly overseeing: Settings;
  readonly #clock: Clock;
  readonly #collection: LockCollection;
  readonly #monitor: LeaseMonitor;
  readonly #holds: Holds;
  readonly #releases: ReleaseQueue;
  readonly #room: WaitingRoom;
  readonly #keeperWatch: KeeperWatch;
  readonly #seatCache: SeatCache;
  readonly #wakeStream: WakeStream;
  readonly #poller: Poller;
  readonly #purgeIndex: PurgeIndex;
  readonly #closing = new AbortController();

  /**
   * @param process - The process id. Default: a new one. All engines of a quorum get the same process id.
   * @param isOfStore - Whether the engine works for one store of a quorum.
   * @throws `TypeError` if `db` is no `Db` of the driver; `RangeError` if the client's connection pool is too small for
   *   the settings, or if the names of the database and the collection are too long together.
   */
  constructor(db: DriverDb, given: Settings, report: Report, process?: string, isOfStore = false) {
    this.settings = settingsFor(db, given);
    const { clock, processName } = surroundingsOf(db);
    this.#clock = clock;
    const processId = process ?? `${processName}:${clock.chance.hex(8)}`;
    this.processId = processId;
    // Requests in flight listen to the first signal, and claims of fires to the second. So a large number of listeners
    // is no leak.
    setMaxListeners(0, this.#closing.signal, this.drained.signal);
    const { settings } = this;
    const collection = new LockCollection(db, settings, clock, report);
    this.#collection = collection;
    this.#purgeIndex = new PurgeIndex(collection, clock, report);
    const committer = new Committer(collection, clock);
    const observation = new Observation(isOfStore);
    this.observation = observation;
    const onAnswer = (name: string, answer: Answer, sentAt: Moment): void => {
      this.#room.answered(name, answer, sentAt);
    };
    const combiner = new Combiner(collection, committer, processId, clock, onAnswer, observation);
    this.#releases = new ReleaseQueue(combiner, clock);
    const extender = new LeaseExtender(committer, processId, report, observation, clock);
    this.#monitor = new LeaseMonitor(extender, settings, clock);
    this.#holds = new Holds(
      settings,
      clock,
      report,
      observation,
      this.#monitor,
      this.#releases,
      db.databaseName,
    );
    this.#room = new WaitingRoom(combiner, processId, settings.wakeIdleMs, clock, this.#unmatchedWakeups());
    this.#keeperWatch = this.#newKeeperWatch();
    this.#seatCache = this.#newSeatCache(report);
    this.#poller = new Poller(collection, KINDS_BY_LEASE_FIELDS, processId, settings, clock, this.#room);
    this.#wakeStream = new WakeStream(
      { collection, settings, clock, report },
      processId,
      this.#room,
      observation,
    );
    this.#room.connect(this.#wakeStream, this.#poller);
    this.inspector = new Inspector(collection, combiner, KINDS, report, this.#displayName);
    this.requester = new Requester(
      {
        settings,
        process: processId,
        clock,
        report,
        observation,
        collection,
        combiner,
        room: this.#room,
        releases: this.#releases,
        makeWay: (name) => {
          this.#seatCache.othersWait(name);
        },
        closing: this.#closing.signal,
      },
      this.#holds,
      this.#seatCache,
      () => {
        if (settings.createIndexes) this.#purgeIndex.wanted();
      },
      (name) => this.inspect(name),
    );
    this.observing = observerSettings(db, settings, LEAST_POOL_TO_OBSERVE);
    this.overseeing = observerSettings(db, settings, LEAST_POOL_TO_OVERSEE);
    const { observing } = this;
    const leaderWatch = new LeaderWatch(collection, observing, clock, report, this.#closing.signal);
    this.elections = {
      requester: this.requester,
      leaderWatch,
      started: new Set(),
      leftBehind: new Set(),
    };
  }

  /** What happens with wake-ups that match no wait. */
  #unmatchedWakeups(): UnmatchedWakeups {
    return {
      onUnclaimed: (name, rules, id, leaseMs) =>
        void this.#releases.giveBack({ name, rules, id, untilMs: this.#clock.nowMs() + leaseMs }),
      onAskedToConfirm: (id) => void this.#holds.confirmLease(id),
      onOthersWait: (name) => {
        this.#seatCache.othersWait(name);
      },
      onGap: () => {
        this.#keeperWatch.onGap();
      },
      onCollectionGone: () => {
        this.#holds.confirmAll();
      },
    };
  }

  #newKeeperWatch(): KeeperWatch {
    return new KeeperWatch({
      ...{ clock: this.#clock, process: this.processId, collection: this.#collection },
      wakeIdleMs: this.settings.wakeIdleMs,
      gaplessSinceMs: () => this.#wakeStream.gaplessSinceMs,
      isPolling: () => this.#wakeStream.isPolling,
      listen: (isListening) => {
        this.#room.setKeeperNear(isListening);
      },
      confirm: (id) => void this.#holds.confirmLease(id),
    });
  }

  #newSeatCache(report: Report): SeatCache {
    return new SeatCache(
      {
        ...{ process: this.processId, clock: this.#clock, report, closing: this.#closing.signal },
        gaplessSinceMs: () => this.#wakeStream.gaplessSinceMs,
        returnIdle: (idle) => {
          this.#holds.returnIdle(idle);
        },
      },
      this.#keeperWatch,
    );
  }

  /** The name of this provider for other processes: its label, if it has one, and its process id. */
  get #displayName(): string {
    const { label } = this.settings;
    return label === undefined ? this.processId : `${label} (${this.processId})`;
  }

  /** @throws {@link ProviderClosedError} if the provider is closed. */
  assertOpen(): void {
    if (this.#closing.signal.aborted) throw new ProviderClosedError(null);
  }

  async inspect(name: string): Promise<LockSnapshot | null> {
    this.assertOpen();
    return await this.inspector.inspect(name);
  }

  /** Judges the provider by what its parts know. Sends nothing. */
  health(): LockProviderHealth {
    const { answers } = this.#collection;
    const nowMs = this.#clock.nowMs();
    const isStreaming = this.#wakeStream.gaplessSinceMs < Infinity;
    const streams = [isStreaming, this.elections.leaderWatch.isStreaming].filter(Boolean).length;
    const listening = isStreaming ? 'change-stream' : null;
    const vitals = {
      isClosing: this.#closing.signal.aborted,
      silence: answers.silence(nowMs),
      refusal: answers.refusal,
      wakeups: this.#wakeStream.isPolling ? 'polling' : listening,
      answeredMsAgo: answers.answeredMsAgo(nowMs),
      streams,
      waiting: this.requester.waiting,
      ...this.#holds.vitals,
    } as const;
    return judge(vitals, this.settings.storeTimeoutMs);
  }

  /**
   * Called after a revocation. If this process has the lease with this id, asks the server about the lease without
   * waiting for the next extension.
   */
  async confirmLease(id: string): Promise<void> {
    await this.#holds.confirmLease(id);
  }

  async ensureIndex(): Promise<Outcome<null>> {
    return await this.#collection.ensureIndex();
  }

  /**
   * Tells holders, candidates and jobs to end, waits for them and for the claims of fires for at most `drainMs`, and
   * then ends all parts.
   */
  async close(drainMs: number): Promise<void> {
    this.#closing.abort();
    const stopped = [...this.elections.started].map((each) => each.stop({ drainMs }));
    this.#holds.requestReleaseOfAll();
    const drained = Promise.all([...stopped, this.#released()]);
    await keepAlive(within(this.#clock, drainMs, drained));
    this.drained.abort();
    this.#holds.loseAll();
    this.#monitor.close();
    this.#releases.close();
    this.#poller.close();
    this.#room.close();
    this.#keeperWatch.close();
    await Promise.all([
      this.#wakeStream.close(),
      this.#purgeIndex.close(),
      this.elections.leaderWatch.close(),
      ...[...this.attached].map((each) => each.close()),
    ]);
    this.#collection.close();
  }

  async #released(): Promise<void> {
    await this.#holds.emptied();
    await Promise.all(this.elections.leftBehind);
    await Promise.allSettled(this.fireClaims);
    await this.#releases.drained();
  }
}
