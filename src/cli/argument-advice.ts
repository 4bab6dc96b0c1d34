/** The commands that take another command after `--`. */
export const TAKES_COMMAND: readonly string[] = ['run', 'elect'];

const DASHED_NAME = 'A name that begins with - stands after --, as in: leasehold show -- -x';

const AFTER_DASHES = 'The command to run stands after --, as in: leasehold run NAME -- make deploy';

/**
 * Adds what is most often meant by arguments that the parser does not take.
 *
 * @param called - The command of leasehold that is called.
 * @param command - The words after the `--` that begins a command; `undefined` if there is no such `--`.
 */
export function withAdvice(
  complaint: string,
  called: string | undefined,
  command: readonly string[] | undefined,
): string {
  const isUnknown = complaint.startsWith('unknown option');
  const hasNoCommand = called !== undefined && TAKES_COMMAND.includes(called) && command === undefined;
  const isOfCommand = hasNoCommand && (isUnknown || complaint.startsWith('too many arguments'));
  const advice = [isOfCommand ? AFTER_DASHES : '', isUnknown ? DASHED_NAME : ''];
  return [complaint, ...advice.filter((line) => line !== '')].join('\n');
}
