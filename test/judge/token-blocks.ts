/** A grant reserves a block of tokens: the lease's own, and after it one for each pass of the seat. */
export interface TokenBlock {
  readonly token: number;
  readonly keeps?: number | undefined;
}

export const lastTokenOf = ({ token, keeps = 0 }: TokenBlock): number => token + keeps;

export const hasToken = (block: TokenBlock, token: number): boolean =>
  block.token <= token && token <= lastTokenOf(block);

/** Two blocks that have a token in common. */
export function overlapIn<B extends TokenBlock>(blocks: readonly B[]): readonly [B, B] | undefined {
  const [first, ...rest] = [...blocks].sort((a, b) => a.token - b.token);
  let before = first;
  for (const block of rest) {
    if (before !== undefined && hasToken(before, block.token)) return [before, block];
    before = block;
  }
  return undefined;
}
