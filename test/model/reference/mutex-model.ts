import type { ModelKind } from './model-kind.js';

/** One seat. */
export const mutexModel: ModelKind = {
  kind: 'mutex',
  reserves: true,
  demanded: () => ({}),
  addedMs: () => 0,
  limitAfter: (_request, { limit }) => limit,
  accepted: () => undefined,
  admissible: ({ leases }, waiters) => (leases.length === 0 ? Math.min(1, waiters.length) : 0),
  promote: () => undefined,
  isHeldBack: () => false,
  own: () => undefined,
  stored: ({ leases: [holder = null] }) => ({ holder }),
};
