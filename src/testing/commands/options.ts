import { NotSimulatedError } from '../server/errors/server-error.js';
import type { GivenCommand } from './command.js';

/** The options that every command may have. Only `maxTimeMS` of `getMore` has an effect in the simulation. */
const WITHOUT_EFFECT: readonly string[] = [
  ...['maxTimeMS', 'comment', 'lsid', 'bypassDocumentValidation', 'hint', '$db', '$readPreference'],
];

/** @throws {@link NotSimulatedError} for an option that is neither in `known` nor in `WITHOUT_EFFECT`. */
export function refuseOtherOptions(what: string, given: GivenCommand, known: readonly string[]): void {
  const other = Object.keys(given).find(
    (option) => given[option] !== undefined && !known.includes(option) && !WITHOUT_EFFECT.includes(option),
  );
  if (other !== undefined) throw new NotSimulatedError(`the option ${other} of ${what}`);
}

/** @throws {@link NotSimulatedError} for a collation that does not compare strings byte by byte. */
export function refuseOtherCollation(what: string, collation: unknown): void {
  const { locale = 'simple' } = (collation ?? {}) as { readonly locale?: unknown };
  if (locale !== 'simple') throw new NotSimulatedError(`a collation of ${what}`);
}

/** Whether a write is answered only when a majority has it, which is the default. */
export function awaitsMajority(what: string, writeConcern: unknown): boolean {
  const { w = 'majority' } = (writeConcern ?? {}) as { readonly w?: unknown };
  if (w === 'majority') return true;
  if (w === 1) return false;
  throw new NotSimulatedError(`the write concern ${String(w)} of ${what}`);
}
