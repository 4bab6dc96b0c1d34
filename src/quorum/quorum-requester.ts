import { ProviderClosedError } from '../errors.js';
import { keepAlive } from '../keep-alive.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { parseAcquireOptions } from '../options/request-options.js';
import type { AcquireOptions, WaitingCall } from '../options/request-options.js';
import { askWithinChain, heldByChain } from '../primitives/call-chain.js';
import { TurnLimit } from '../primitives/turn-limit.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';
import { QuorumAcquisition } from './quorum-acquisition.js';
import { QuorumError } from './quorum-error.js';
import type { QuorumHold } from './quorum-hold.js';
import { commonSnapshot } from './quorum-snapshot.js';
import type { Quorum } from './quorum.js';
import type { StoreFailure } from './store-failure.js';
import type { Store, SeatRequest } from './store.js';

/** One lock in one mode, and how to make the handle of a hold. */
export interface QuorumTarget<H extends LockHandle> extends Omit<SeatRequest, 'why'> {
  makeHandle(hold: QuorumHold, quorum: Quorum): H;
}

export class QuorumRequester {
  readonly #quorum: Quorum;
  readonly #turnLimit: TurnLimit;

  constructor(quorum: Quorum) {
    this.#quorum = quorum;
    this.#turnLimit = new TurnLimit(quorum.clock);
  }

  acquire<H extends LockHandle>(
    target: QuorumTarget<H>,
    options: AcquireOptions | undefined,
    call: WaitingCall,
  ): Promise<H> {
    return keepAlive(this.#acquire(target, options, call));
  }

  async #acquire<H extends LockHandle>(
    target: QuorumTarget<H>,
    options: AcquireOptions | undefined,
    call: WaitingCall,
  ): Promise<H> {
    const { settings, clock, report, observation } = this.#quorum;
    const { name, kind, mode } = target;
    const parsed = parseAcquireOptions(settings, target.durations, options, call);
    const { durations, why, signal } = parsed;
    this.#quorum.minValidityMs(durations);
    const isHopeless = (): boolean => parsed.timeoutMs === Infinity && heldByChain(this, name).length > 0;
    const startedMs = clock.nowMs();
    const request = { name, kind, mode, durations, why };
    const lock = { lockName: name, kind, mode: kind === 'reader-writer' ? mode : undefined };
    const observed = observation?.isOn === true ? observation.acquireStarted(lock) : undefined;
    try {
      return await askWithinChain(name, isHopeless, async (isSingleTry) => {
        const timeoutMs = isSingleTry ? 0 : parsed.timeoutMs;
        const hold = await new QuorumAcquisition(this.#quorum, request, {
          timeoutMs,
          signal,
          startedMs,
        }).run();
        this.#turnLimit.turned();
        const waitedMs = clock.nowMs() - startedMs;
        if (observed !== undefined) {
          observation?.acquireGranted(observed, hold, waitedMs);
          observation?.holdStarted(hold, observed);
        }
        report('acquired', { ...hold.event, waitedMs });
        return target.makeHandle(hold, this.#quorum);
      });
    } catch (error) {
      if (observed !== undefined) {
        const isTry = call === 'tryAcquire' || parsed.timeoutMs === 0;
        const durationMs = clock.nowMs() - startedMs;
        observation?.acquireFailed(observed, error, { isTry, signal, durationMs });
      }
      throw error;
    } finally {
      // What was granted or has failed stays so. Only the caller is told later.
      const nextTurn = this.#turnLimit.ended();
      if (nextTurn !== undefined) await nextTurn;
    }
  }

  async inspect(name: string): Promise<LockSnapshot | null> {
    const { stores, majority, closing, health } = this.#quorum;
    if (closing.aborted) throw new ProviderClosedError(name);
    // Waits for all stores, because the stores in which a hold has its seats need not be the first to answer.
    const failures: StoreFailure[] = [];
    const snapshots: (LockSnapshot | null)[] = [];
    const inspectStore = async (store: Store): Promise<void> => {
      try {
        snapshots.push(await store.inspect(name));
        health.recordAnswer(store);
      } catch (error) {
        failures.push({ store: store.index, hasAnswered: health.hasAnswered(store), error });
      }
    };
    await keepAlive(Promise.all(stores.map(inspectStore)));
    if (snapshots.length < majority) throw new QuorumError(name, stores.length, failures);
    return commonSnapshot(snapshots, majority, failures.length);
  }
}
