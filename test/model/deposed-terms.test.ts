import { describe, expect, it } from 'vitest';

import type { Operation } from '../../src/protocol/operation.js';
import { DeposedTerms } from './histories/deposed-terms.js';

const instant = new Date(1_000);
const stored = { job: 'mail', instant, claimId: 'c1', anchor: instant };
const claim: Operation = {
  type: 'claim',
  ...{ id: 'term', token: 7, job: 'mail', instant, after: null, claimId: 'c1', nonce: '0a' },
};
const claimWithoutTerm: Operation = {
  type: 'claimWithoutTerm',
  ...{ job: 'mail', instant, claimId: 'c1', process: 'host:1:p', nonce: '0b', retentionMs: 1_000 },
};

const afterDeposition = (): DeposedTerms => {
  const terms = new DeposedTerms();
  terms.note(undefined, [claim], undefined, ['+0a:deposed']);
  return terms;
};

describe('the judge of terms that are over', () => {
  it('refuses a claim that a term makes after it was told that it is over', () => {
    const terms = afterDeposition();
    expect(() => {
      terms.note(undefined, [claim], [stored], ['+0a:claimed']);
    }).toThrow('took effect after its term');
  });

  it('accepts the claim that somebody without a term made in the same update, which the term then repeats', () => {
    const terms = afterDeposition();
    terms.note(undefined, [claimWithoutTerm, claim], [stored], ['+0b:claimed', '+0a:claimed']);
  });
});
