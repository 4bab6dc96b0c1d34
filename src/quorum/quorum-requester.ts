import { AcquireTimeoutError, DeadlockError, ProviderClosedError } from '../errors.js';
import type { LockHandle } from '../lease/lock-handle.js';
import { parseAcquireOptions } from '../options/request-options.js';
import type { AcquireOptions } from '../options/request-options.js';
import { heldByChain } from '../primitives/call-chain.js';
import type { LockSnapshot } from '../protocol/snapshot.js';
import { Contest } from './contest.js';
import { QuorumError } from './quorum-error.js';
import type { QuorumHold } from './quorum-hold.js';
import { commonSnapshot } from './quorum-snapshot.js';
import type { Quorum } from './quorum.js';
import type { Wish } from './store.js';

/** One lock, and how it is asked for. */
export interface QuorumTarget<H extends LockHandle> extends Omit<Wish, 'why'> {
  makeHandle(hold: QuorumHold, quorum: Quorum): H;
}

/** What the locks of a quorum do alike: check the options, acquire, look. */
export class QuorumRequester {
  readonly #quorum: Quorum;

  constructor(quorum: Quorum) {
    this.#quorum = quorum;
  }

  async acquire<H extends LockHandle>(
    target: QuorumTarget<H>,
    options: AcquireOptions | undefined,
    defaultTimeoutMs: number,
  ): Promise<H> {
    const { settings, clock, report } = this.#quorum;
    const { name, kind, mode } = target;
    const parsed = parseAcquireOptions(settings, target.terms, options, defaultTimeoutMs);
    const { terms, why, signal } = parsed;
    this.#quorum.minValidityMs(terms);
    const isHopeless = parsed.timeoutMs === Infinity && heldByChain(this, name).length > 0;
    // If there is room all the same, one try finds it.
    const timeoutMs = isHopeless ? 0 : parsed.timeoutMs;
    const startedMs = clock.nowMs();
    try {
      const wish = { name, kind, mode, terms, why };
      const hold = await new Contest(this.#quorum, wish, { timeoutMs, signal, startedMs }).run();
      report('acquired', { ...hold.event, waitedMs: clock.nowMs() - startedMs });
      return target.makeHandle(hold, this.#quorum);
    } catch (error) {
      if (isHopeless && error instanceof AcquireTimeoutError) throw new DeadlockError(name);
      throw error;
    }
  }

  async inspect(name: string): Promise<LockSnapshot | null> {
    const { stores, majority, closing } = this.#quorum;
    if (closing.aborted) throw new ProviderClosedError(name);
    // All are waited for: those of a hold need not be the first to answer.
    const answers = await Promise.allSettled(stores.map((store) => store.inspect(name)));
    const failures = answers.flatMap((answer) =>
      answer.status === 'rejected' ? [answer.reason as unknown] : [],
    );
    const snapshots = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    if (snapshots.length < majority) throw new QuorumError(name, stores.length, failures);
    return commonSnapshot(snapshots, majority, failures.length);
  }
}
