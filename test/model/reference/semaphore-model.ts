import type { Resize } from '../../../src/protocol/operation.js';
import type { DraftedDocument } from './model-draft.js';
import type { ModelKind } from './model-kind.js';
import type { Inside } from './model-document.js';

/** As many permits as its limit. After a resize, more permits than that may be held. */
export const semaphoreModel: ModelKind = {
  kind: 'semaphore',
  reserves: true,
  addedMs: () => 0,
  demanded: ({ permits = 1 }) => ({ permits }),
  limitAfter({ limit: wanted, permits = 1, mustMatch, setsLimit }, { leases, limit: stored }, queue) {
    const isIdle = leases.length === 0 && queue.length === 0;
    const names = setsLimit === true || (mustMatch === true && isIdle);
    const limit = names ? (wanted ?? stored) : stored;
    return permits <= limit && (mustMatch !== true || limit === wanted) ? limit : undefined;
  },
  accepted(draft, { mustMatch, setsLimit }) {
    if (mustMatch === true || setsLimit === true) removeTooBig(draft);
  },
  admissible(inside, waiters) {
    let left = permitsLeft(inside);
    let count = 0;
    // The head blocks: a small request behind a big one waits for it.
    for (const { permits = 1 } of waiters) {
      if (permits > left) break;
      left -= permits;
      count += 1;
    }
    return count;
  },
  promote: () => undefined,
  isHeldBack: () => false,
  own(draft, operation) {
    if (operation.type === 'resize') resize(draft, operation);
  },
  stored: ({ leases, limit }) => ({ limit, holders: leases }),
};

const permitsLeft = ({ leases, limit }: Inside): number =>
  leases.reduce((left, { permits = 1 }) => left - permits, limit);

/** Changes the limit, and takes no permit away. */
function resize(draft: DraftedDocument, { limit, notAfter }: Resize): void {
  if (draft.nowMs > notAfter.getTime()) return;
  draft.limit = limit;
  removeTooBig(draft);
}

/** Removes and tells the waiters that can never be admitted any more, and tells the keepers of permits beyond the limit. */
function removeTooBig(draft: DraftedDocument): void {
  const { limit, queue } = draft;
  const tooBig = queue.filter(({ waiter: { permits = 1 } }) => permits > limit);
  draft.queue = queue.filter((queued) => !tooBig.includes(queued));
  for (const { id, waiter } of tooBig) draft.wake.push(`${waiter.process}:${id}:0`);
  // Kept permits that are not in use come back at once.
  if (permitsLeft(draft) < 0) draft.tellKeepers();
}
