import type { LockKind, Waiter } from '../../../src/protocol/lock-document.js';
import type { Operation, OwnOperation, Request } from '../../../src/protocol/operation.js';
import type { DraftedDocument } from './model-draft.js';
import type { Inside, ModelDocument, Queued } from './model-document.js';

/** The rules that differ between the kinds of locks. */
export interface ModelKind {
  readonly kind: LockKind;
  /** The fields of a waiter and its lease that only this kind has. */
  demanded(request: Request): Pick<Waiter, 'mode' | 'permits' | 'candidateId' | 'value' | 'transitionMs'>;
  /** How much longer a grant makes the lease of a waiter. */
  addedMs(waiter: Waiter): number;
  /** Whether a grant reserves the tokens that its request asks for. */
  readonly reserves: boolean;
  /** The limit once this request is accepted; `undefined` if the limit is the reason to refuse it. */
  limitAfter(request: Request, inside: Inside, queue: readonly Queued[]): number | undefined;
  /** Further effects of accepting a request, before it is queued. */
  accepted(draft: DraftedDocument, request: Request): void;
  /** How many of the first waiters may enter now. */
  admissible(inside: Inside, waiters: readonly Waiter[]): number;
  /** Before waiters are admitted: a holder may get a stronger mode, or has to make room for its own candidate. */
  promote(draft: DraftedDocument): void;
  /** Whether this is an operation of this kind alone that has to wait, or a try of it that found the lock busy. */
  isHeldBack(draft: DraftedDocument, operation: Operation): boolean;
  /** Applies an operation that only this kind has. */
  own(draft: DraftedDocument, operation: OwnOperation): void;
  /** The fields in which a document stores the leases. */
  stored(document: ModelDocument): Readonly<Record<string, unknown>>;
}
