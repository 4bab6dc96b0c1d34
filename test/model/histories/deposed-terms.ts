import assert from 'node:assert/strict';

import type { StoredClaim } from '../../../src/protocol/jobs/job-claims.js';
import type { Claim, ClaimWithoutTerm, Operation } from '../../../src/protocol/operation.js';
import { answerTo } from '../../../src/protocol/wake.js';

type Claims = readonly StoredClaim[] | undefined;

/** The terms of one election that were told that they are over. No claim of such a term may take effect later. */
export class DeposedTerms {
  readonly #terms = new Set<string>();

  /** Judges the claims of one update. */
  note(before: Claims, operations: readonly Operation[], after: Claims, wake: readonly string[]): void {
    for (const made of after ?? []) {
      if (before?.some((stored) => isSame(stored, made)) === true) continue;
      // A claim with or without a term may have made it; the others of the same id only repeat it.
      const makers = operations.filter(isClaim).filter((claim) => isSame(claim, made));
      if (makers.length === 0) continue;
      assert.ok(
        makers.some((claim) => claim.type === 'claimWithoutTerm' || !this.#terms.has(termOf(claim))),
        'a claim took effect after its term was told that it is over',
      );
    }
    for (const operation of operations) {
      if (operation.type !== 'claim') continue;
      if (answerTo(wake, operation.nonce) === 'deposed') this.#terms.add(termOf(operation));
    }
  }

  /** The server's clock is set back: a term that was over may go on. */
  forget(): void {
    this.#terms.clear();
  }
}

const termOf = ({ id, token }: Claim): string => `${id}:${token}`;

const isClaim = (operation: Operation): operation is Claim | ClaimWithoutTerm =>
  operation.type === 'claim' || operation.type === 'claimWithoutTerm';

const isSame = (
  one: Pick<StoredClaim, 'job' | 'claimId' | 'instant'>,
  other: Pick<StoredClaim, 'job' | 'claimId' | 'instant'>,
): boolean =>
  one.job === other.job && one.claimId === other.claimId && one.instant.getTime() === other.instant.getTime();
