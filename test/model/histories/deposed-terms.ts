import assert from 'node:assert/strict';

import type { StoredClaim } from '../../../src/protocol/jobs/job-claims.js';
import type { Claim, Operation } from '../../../src/protocol/operation.js';
import { answerTo } from '../../../src/protocol/wake.js';

type Claims = readonly StoredClaim[] | undefined;

/** The terms of one election that were told that they are over. No claim of such a term may take effect later. */
export class DeposedTerms {
  readonly #terms = new Set<string>();

  /** Judges the claims of one update. */
  note(before: Claims, operations: readonly Operation[], after: Claims, wake: readonly string[]): void {
    const claims = operations.filter((operation): operation is Claim => operation.type === 'claim');
    for (const made of after ?? []) {
      if (before?.some((stored) => isSame(stored, made)) === true) continue;
      const makers = claims.filter(
        (claim) => claim.job === made.job && claim.claimId === made.claimId && isAt(claim, made),
      );
      if (makers.length === 0) continue;
      assert.ok(
        makers.some((claim) => !this.#terms.has(termOf(claim))),
        'a claim took effect after its term was told that it is over',
      );
    }
    for (const claim of claims) {
      if (answerTo(wake, claim.nonce) === 'deposed') this.#terms.add(termOf(claim));
    }
  }

  /** The server's clock is set back: a term that was over may go on. */
  forget(): void {
    this.#terms.clear();
  }
}

const termOf = ({ id, token }: Claim): string => `${id}:${token}`;

const isAt = (one: Pick<StoredClaim, 'instant'>, other: Pick<StoredClaim, 'instant'>): boolean =>
  one.instant.getTime() === other.instant.getTime();

const isSame = (one: StoredClaim, other: StoredClaim): boolean =>
  one.job === other.job && one.claimId === other.claimId && isAt(one, other);
