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
 * Refuses an option by which a document would be encoded or decoded otherwise than in the simulation.
 *
 * @param what - The method that has the option.
 */
export function refuseOtherEncoding(what: string, options: Options): void {
  for (const [option, simulated] of Object.entries(ENCODING)) {
    const value = options[option];
    if (value === undefined || value === simulated) continue;
    throw notSimulated(
      new NotSimulatedError(`the option ${option}: ${inspect(value, { depth: 0 })} of ${what}`),
    );
  }
}

/**
 * Refuses an option that `refuseOtherEncoding` refuses, and every option that is neither in `known` nor allowed for
 * each method (`EVERYWHERE`) or each command (`refuseOtherOptions`).
 */
export function refuseUnlessKnown(what: string, options: Options, known: readonly string[]): void {
  refuseOtherEncoding(what, options);
  try {
    refuseOtherOptions(what, options, [...EVERYWHERE, ...known]);
  } catch (error) {
    throw notSimulated(error as Error);
  }
}
