import { inspect } from 'node:util';
import { refuseOtherOptions } from '../commands/options.js';
import { NotSimulatedError } from '../server/errors/server-error.js';
import { notSimulated } from './driver-errors.js';

export type Options = Readonly<Record<string, unknown>>;

/** How documents are encoded and decoded in the simulation: by the defaults of the driver. */
const ENCODING: Options = {
  ignoreUndefined: false,
  checkKeys: false,
  serializeFunctions: false,
  promoteValues: true,
  promoteLongs: true,
  promoteBuffers: false,
  useBigInt64: false,
  raw: false,
  bsonRegExp: false,
};

const EVERYWHERE: readonly string[] = [...Object.keys(ENCODING), 'session', 'readPreference'];

/**
 * Refuses an option by which a document would be encoded or decoded otherwise than in the simulation, and an option
 * that asks for another member than the primary.
 *
 * @param what - The method that has the option.
 */
export function refuseOtherDefaults(what: string, options: Options): void {
  for (const [option, simulated] of Object.entries(ENCODING)) {
    const value = options[option];
    if (value !== undefined && value !== simulated) throw otherValue(what, option, value);
  }
  const { readPreference } = options;
  const mode =
    typeof readPreference === 'object'
      ? (readPreference as { readonly mode?: unknown } | null)?.mode
      : readPreference;
  if (mode !== undefined && mode !== 'primary') throw otherValue(what, 'readPreference', mode);
}

/** The error for an option that is known, with a value that the simulation does not have. */
export const otherValue = (what: string, option: string, value: unknown): Error =>
  notSimulated(new NotSimulatedError(`the option ${option}: ${inspect(value, { depth: 0 })} of ${what}`));

/**
 * Checks the options of a database or a collection. The calls of a collection do not read them, so they may say only
 * what the calls do without them.
 */
export function refuseOtherSettings(what: string, options: Options): void {
  refuseUnlessKnown(what, options, ['readConcern', 'writeConcern']);
  const { readConcern, writeConcern } = options as ConcernOptions;
  const level = readConcernOf(readConcern)?.level ?? 'local';
  if (level !== 'local') throw otherValue(what, 'readConcern', level);
  const w = writeConcern?.w ?? 'majority';
  if (w !== 'majority') throw otherValue(what, 'writeConcern', w);
}

/** The read concern of an option. Like the driver, takes a text for its level. */
export const readConcernOf = (given: ReadConcern | string | undefined): ReadConcern | undefined =>
  typeof given === 'string' ? { level: given } : given;

interface ReadConcern {
  readonly level?: unknown;
}

export interface ConcernOptions {
  readonly readConcern?: ReadConcern | string;
  readonly writeConcern?: { readonly w?: unknown };
}

/**
 * Refuses an option that `refuseOtherDefaults` refuses, and every option that is neither in `known` nor allowed for
 * each method (`EVERYWHERE`) or each command (`refuseOtherOptions`).
 */
export function refuseUnlessKnown(what: string, options: Options, known: readonly string[]): void {
  refuseOtherDefaults(what, options);
  try {
    refuseOtherOptions(what, options, [...EVERYWHERE, ...known]);
  } catch (error) {
    throw notSimulated(error as Error);
  }
}
