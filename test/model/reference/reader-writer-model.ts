import type { Lease, Waiter } from '../../../src/protocol/lock-document.js';
import type { Exchange } from '../../../src/protocol/operation.js';
import { omit } from './model-draft.js';
import type { DraftedDocument } from './model-draft.js';
import type { ModelKind } from './model-kind.js';

/** Many readers, of which one may be upgradeable, or one writer, alone. */
export const readerWriterModel: ModelKind = {
  kind: 'reader-writer',
  // The holds of a kept read share its token.
  reserves: false,
  addedMs: () => 0,
  demanded: ({ mode = 'write' }) => ({ mode }),
  limitAfter: (_request, { limit }) => limit,
  accepted: () => undefined,
  admissible: ({ leases }, waiters) => countAdmissible(leases, waiters),
  promote,
  isHeldBack: (draft, operation) => operation.type === 'exchange' && isHeldBack(draft, operation),
  own(draft, operation) {
    if (operation.type === 'exchange') exchange(draft, operation);
  },
  stored: ({ leases, queue }) => ({
    readers: leases.filter(({ mode }) => mode !== 'write'),
    writer: leases.find(({ mode }) => mode === 'write') ?? null,
    writerWaiting: leases.some(isUpgrading) || queue.some(({ waiter }) => waiter.mode === 'write'),
  }),
};

const isUpgrading = ({ upgrading }: Lease): boolean => upgrading === true;

function countAdmissible(leases: readonly Lease[], waiters: readonly Waiter[]): number {
  if (leases.some((lease) => lease.mode === 'write' || isUpgrading(lease))) return 0;
  if (waiters[0]?.mode === 'write') return leases.length === 0 ? 1 : 0;
  let upgradeables = leases.filter(({ mode }) => mode === 'upgradeable').length;
  let count = 0;
  for (const { mode } of waiters) {
    if (mode === 'upgradeable') upgradeables += 1;
    if (mode === 'write' || upgradeables > 1) break;
    count += 1;
  }
  return count;
}

/** The upgradeable reader that waits for the others to leave becomes the writer, as soon as it is the only one. */
function promote(draft: DraftedDocument): void {
  const [only, ...others] = draft.leases;
  if (only === undefined || others.length > 0 || !isUpgrading(only)) return;
  const token = draft.nextToken();
  const grant = { mode: 'write', token, ...remembered(only), acquiredAt: new Date(draft.nowMs) } as const;
  draft.leases = [{ ...omit(only, 'upgrading'), ...grant }];
  draft.wake.push(`${only.process}:${only.id}:${token}`);
}

/** Keeps the first token when a change of mode replaces the token. */
const remembered = ({ firstToken, token }: Lease): Pick<Lease, 'firstToken'> => ({
  firstToken: firstToken ?? token,
});

function exchange(draft: DraftedDocument, { id, change, to, waits }: Exchange): void {
  const lease = draft.lease(id);
  if (lease === undefined || (lease.change ?? 0) >= change) return;
  const { mode } = lease;
  let exchanged: Lease;
  if (mode === 'upgradeable' && to === 'write') {
    exchanged = { ...lease, upgrading: waits || draft.leases.length === 1 };
  } else if (mode === 'upgradeable' && to === 'upgradeable') exchanged = { ...lease, upgrading: false };
  else if ((mode === 'upgradeable' && to === 'read') || (mode === 'write' && to !== 'write')) {
    exchanged = { ...lease, mode: to, upgrading: false, token: draft.nextToken(), ...remembered(lease) };
  } else if (mode === 'write' && to === 'write') {
    // An older change that arrives later must not take the mode back.
    exchanged = { ...lease, ...remembered(lease) };
  } else return;
  draft.change([id], () => ({ ...exchanged, change }));
}

/** Whether this upgrade is the last change of its lease, and others still read beside it. */
function isHeldBack(draft: DraftedDocument, { id, change, to }: Exchange): boolean {
  const lease = draft.lease(id);
  return to === 'write' && lease?.change === change && lease.mode !== 'write';
}
