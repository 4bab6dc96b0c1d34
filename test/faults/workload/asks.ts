import type { Stage } from './stage.js';
import { codeOf } from './error-codes.js';
import { passesOf } from './wishes.js';
import type { Wish } from './wishes.js';

/** Writes a request to the journal, before the call. Returns its number. */
export function asked(
  stage: Stage,
  { lock, seat }: Wish,
  timeoutMs: number | null,
  isOneOfSeveral: boolean,
): number {
  const ask = stage.nextAsk();
  stage.journal.write({ type: 'asked', ask, lock, seat, timeoutMs, isOneOfSeveral, passes: passesOf(lock) });
  return ask;
}

/** Awaits a request, and writes each of its locks to the journal unless it was granted. */
export async function answered<T>(
  { journal }: Stage,
  asks: readonly number[],
  request: Promise<T | null>,
): Promise<T | null> {
  let code: string;
  try {
    const granted = await request;
    if (granted !== null) return granted;
    code = 'BUSY';
  } catch (error) {
    code = codeOf(error) ?? (error instanceof Error && error.name === 'TimeoutError' ? 'ABORTED' : '');
    if (code === '') {
      code = String(error);
      journal.write({ type: 'complaint', what: `acquire: ${code}` });
    }
  }
  const isKnown = code !== 'STORE_UNAVAILABLE' && code !== 'QUORUM';
  for (const ask of asks) journal.write({ type: 'not granted', ask, code, isKnown });
  return null;
}
