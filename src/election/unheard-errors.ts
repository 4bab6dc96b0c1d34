import { quoted } from '../errors.js';
import { brief } from '../warnings.js';
import type { Sayings } from '../warnings.js';

/** The errors of a candidate of the election of this name, as warnings. */
export const sayingsOfElection = (name: string): Sayings<{ error: [unknown] }> => ({
  error: {
    code: 'LEASEHOLD_ELECTION_ERROR',
    say: (error) => `Election ${quoted(name)}: a callback or a request failed: ${brief(error)}`,
    errorOf: (error) => error,
  },
});
