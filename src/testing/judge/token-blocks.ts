/**
 * The tokens of one grant: the token of the lease, and after it one token for each pass of the seat (`keeps`). Only a
 * lease of a reader-writer lock has a `mode`. Such a lease reserves no tokens for passes, because the holds of a kept
 * read share one token.
 */
export interface TokenBlock {
  readonly token: number;
  readonly keeps?: number | undefined;
  readonly mode?: string | undefined;
}

export const reservedBy = ({ keeps = 0, mode }: Omit<TokenBlock, 'token'>): number =>
  mode === undefined ? keeps : 0;

export const lastTokenOf = (block: TokenBlock): number => block.token + reservedBy(block);

export const hasToken = (block: TokenBlock, token: number): boolean =>
  block.token <= token && token <= lastTokenOf(block);

/** Two blocks that have a token in common; `undefined` if there are none. */
export function overlapIn<B extends TokenBlock>(blocks: readonly B[]): readonly [B, B] | undefined {
  const [first, ...rest] = [...blocks].sort((a, b) => a.token - b.token);
  let before = first;
  for (const block of rest) {
    if (before !== undefined && hasToken(before, block.token)) return [before, block];
    before = block;
  }
  return undefined;
}
