import { setTimeout as sleep } from 'node:timers/promises';

const tokens: number[] = [];
let atATime = 0;

/** Fails if two charges of one process overlap, or if a token does not rise. */
export async function charge(
  number: string,
  { signal, fencingToken }: { readonly signal: AbortSignal; readonly fencingToken: number },
): Promise<void> {
  atATime += 1;
  if (atATime > 1) throw new Error('two at a time');
  if (fencingToken <= (tokens.at(-1) ?? 0)) throw new Error('the token does not rise');
  tokens.push(fencingToken);
  await sleep(number === 'slow' ? 1_500 : 50, undefined, { signal });
  atATime -= 1;
}
