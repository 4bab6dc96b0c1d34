/**
 * The header of an answer that says that nothing was revoked. An answer of 500 or more without it leaves open whether
 * something was.
 */
export const NOT_REVOKED = 'leasehold-not-revoked';
