import { quoted } from '../error-text.js';
import { oneLine } from '../warnings.js';
import type { FailureWarnings } from '../warnings.js';

/** The process warnings for the `error` events of a candidate that have no listener. */
export const electionWarnings = (name: string): FailureWarnings<{ error: [unknown] }> => ({
  error: {
    code: 'LEASEHOLD_ELECTION_ERROR',
    message: (error) => `Election ${quoted(name)}: a callback or a request failed: ${oneLine(error)}`,
    errorOf: (error) => error,
  },
});
