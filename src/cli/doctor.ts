import { textOf } from '../error-text.js';
import type { CommonOptions, Session } from './connection.js';
import { openSession } from './connection.js';
import { checkClocks, checkRoundTrip, checkWrite } from './doctor-times.js';
import {
  checkChangeStreams,
  checkDriver,
  checkIndex,
  checkKeptSeats,
  checkPool,
  checkPrivileges,
  checkServer,
  checkStreams,
  checkTopology,
} from './doctor-checks.js';
import type { Finding } from './finding.js';
import { EXIT } from './exit-codes.js';
import type { Output } from './output.js';

type Check = (session: Session) => Promise<Finding> | Finding;

/** The checks in the order in which they are printed. */
const CHECKS: readonly (readonly [name: string, check: Check])[] = [
  ['server', checkServer],
  ['driver', checkDriver],
  ['replica set', checkTopology],
  ['change streams', checkChangeStreams],
  ['privileges', checkPrivileges],
  ['index', checkIndex],
  ['pool', checkPool],
  ['clocks', checkClocks],
  ['round trip', checkRoundTrip],
  ['majority write', checkWrite],
  ['streams open', checkStreams],
  ['kept seats', checkKeptSeats],
];

const STYLES = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

/** Checks what locks need, one check after the other, and prints each finding at once. */
export async function doctor(options: CommonOptions): Promise<number> {
  await using session = await openSession(options, { label: 'leasehold doctor' });
  let hasFailed = false;
  for (const [check, run] of CHECKS) {
    const finding = await findingOf(run, session);
    hasFailed ||= finding.status === 'fail';
    print(session.output, check, finding);
  }
  return hasFailed ? EXIT.negative : EXIT.ok;
}

/** Runs one check. If the check throws, the finding is a failure. */
async function findingOf(run: Check, session: Session): Promise<Finding> {
  try {
    return await run(session);
  } catch (error) {
    const detail = `the check failed: ${textOf(error)}`;
    return { status: 'fail', detail, advice: 'Mend the cause, and check again.' };
  }
}

function print(output: Output, check: string, { status, detail, advice }: Finding): void {
  if (output.isJson) {
    output.row({ check, status, detail, advice });
    return;
  }
  output.cells([{ text: status.padEnd(4), style: STYLES[status] }, { text: `${check}: ${detail}` }]);
  if (advice !== '') output.cells([{ text: '    ' }, { text: advice, style: 'dim' }]);
}
