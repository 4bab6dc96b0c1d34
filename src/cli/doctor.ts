import { textOf } from '../error-text.js';
import type { CommonOptions, Session } from './connection.js';
import { openSession } from './connection.js';
import { checkClocks, checkRoundTrip, checkWrite } from './doctor-times.js';
import { StoredLocks } from './doctor-locks.js';
import {
  checkChangeStreams,
  checkDriver,
  checkIndex,
  checkPool,
  checkPrivileges,
  checkServer,
  checkStreams,
  checkTopology,
} from './doctor-checks.js';
import { fail, warn } from './finding.js';
import type { Finding } from './finding.js';
import { CommandFailure, EXIT } from './exit-codes.js';
import { Interruption } from './interruption.js';
import { orAborted } from './or-aborted.js';
import type { Output } from './output.js';
import { TimeLimit } from './time-limit.js';

/** A check ends what it has begun when `signal` aborts: its time is up, or a signal has come. */
type Check = (session: Session, signal: AbortSignal) => Promise<Finding> | Finding;

/** How long one check may take, in ms. */
const CHECK_MS = 5_000;

/** How long all checks may take together that need the server, in ms. Without trouble they take far less. */
const ALL_MS = 30_000;

/** How long a server may take that has not answered a check to show that it answers anything at all, in ms. */
const PING_MS = 1_000;

const SILENCE = `no answer within ${CHECK_MS / 1_000} s`;

/** The finding of a check that has taken longer than `CHECK_MS`. */
const NO_ANSWER = fail(`the check got ${SILENCE}`, 'Find out what keeps the server from answering.');

/** The checks in the order in which they are printed. */
function checks(): readonly (readonly [name: string, check: Check])[] {
  const locks = new StoredLocks();
  return [
    ['server', checkServer],
    ['driver', checkDriver],
    ['replica set', checkTopology],
    ['change streams', checkChangeStreams],
    ['privileges', checkPrivileges],
    ['index', checkIndex],
    ['documents', locks.checkDocuments],
    ['pool', checkPool],
    ['clocks', checkClocks],
    ['round trip', checkRoundTrip],
    ['majority write', checkWrite],
    ['streams open', checkStreams],
    ['kept seats', locks.checkKeptSeats],
  ];
}

/** The checks that ask no server. */
const LOCAL: readonly Check[] = [checkDriver, checkPool];

const STYLES = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

/**
 * Checks what locks need, one check after the other, and prints each finding at once. If the server answers nothing any
 * more, or all checks together take too long, the checks that need the server are not run.
 *
 * @throws {@link CommandFailure} with 69 if the first check gets no answer.
 */
export async function doctor(options: CommonOptions): Promise<number> {
  using interruption = new Interruption();
  const { signal } = interruption;
  await using session = await openSession(options, { label: 'leasehold doctor', interruption });
  const untilMs = performance.now() + ALL_MS;
  let hasFailed = false;
  let unable: string | undefined;
  for (const [name, check] of checks()) {
    if (performance.now() > untilMs) unable ??= `the checks before took more than ${ALL_MS / 1_000} s`;
    const finding =
      unable === undefined || LOCAL.includes(check)
        ? await findingOf(check, session, signal)
        : warn(`not run: ${unable}`, 'Check again when the server answers.');
    if (finding === NO_ANSWER) {
      if (check === checkServer) throw silentServer(session);
      if (!(await answers(session, signal))) {
        unable = `the server has not answered since the check "${name}"`;
        session.ending.giveUp();
      }
    }
    hasFailed ||= finding.status === 'fail';
    print(session.output, name, finding);
  }
  return hasFailed ? EXIT.negative : EXIT.ok;
}

/** Whether the server answers a command that asks for nothing. */
async function answers({ db }: Session, interrupted: AbortSignal): Promise<boolean> {
  using limit = new TimeLimit(PING_MS);
  try {
    await orAborted(db.command({ ping: 1 }), AbortSignal.any([limit.signal, interrupted]));
    return true;
  } catch {
    interrupted.throwIfAborted();
    return false;
  }
}

function silentServer(session: Session): CommandFailure {
  session.ending.giveUp();
  return new CommandFailure(
    EXIT.unavailable,
    `the server accepted the connection, and gave ${SILENCE}; find out what keeps it from answering`,
  );
}

/**
 * Runs one check. If the check throws, the finding is a failure.
 *
 * @returns `NO_ANSWER` if the check takes longer than `CHECK_MS`.
 * @throws The reason of `interrupted`, if a signal came.
 */
async function findingOf(run: Check, session: Session, interrupted: AbortSignal): Promise<Finding> {
  using limit = new TimeLimit(CHECK_MS, new Error(SILENCE));
  const ends = AbortSignal.any([limit.signal, interrupted]);
  try {
    return await orAborted(Promise.resolve(run(session, ends)), ends);
  } catch (error) {
    interrupted.throwIfAborted();
    if (limit.signal.aborted) return NO_ANSWER;
    return fail(`the check failed: ${textOf(error)}`, 'Mend the cause, and check again.');
  }
}

function print(output: Output, check: string, { status, detail, advice }: Finding): void {
  if (output.isJson) {
    output.row({ check, status, detail, advice });
    return;
  }
  const style = STYLES[status];
  output.cells([{ text: status, style, width: 4 }, { text: `${check}: ${detail}` }]);
  if (advice !== '')
    output.cells([
      { text: '', width: 4 },
      { text: advice, style: 'dim' },
    ]);
}
