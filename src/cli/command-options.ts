import { Option } from 'commander';
import type { Command } from 'commander';

import { leaseLength, shortText } from '../options/checks.js';
import { CommandFailure, EXIT } from './exit-codes.js';
import { duration, positiveDuration } from './values.js';

/** Makes an option that a variable of the environment can also set: `--kill-after` by `LEASEHOLD_KILL_AFTER`. */
export function option(flags: string, description: string): Option {
  const made = new Option(flags, description);
  return made.env(`LEASEHOLD_${made.name().replaceAll('-', '_').toUpperCase()}`);
}

/**
 * Makes options exclude each other. If one of them is on the command line, the variables of the others are ignored,
 * just as an option outranks its own variable.
 */
export function excludeEachOther(command: Command, ...names: readonly string[]): void {
  const options = command.options.filter((each) => names.includes(each.attributeName()));
  for (const each of options) {
    const others = options.filter((other) => other !== each);
    each.conflicts(others.map((other) => other.attributeName()));
    // The parser reads the variables after the arguments.
    command.on(`option:${each.name()}`, () => {
      for (const other of others) delete other.envVar;
    });
  }
}

/**
 * Refuses an option if it is given. The caller has found that `needed`, which the option needs, is missing. If the
 * option was set by its environment variable, the error names the variable.
 *
 * @throws {@link CommandFailure} if the option is given.
 */
export function refuseWithout(command: Command, name: string, needed: string): void {
  const source = command.getOptionValueSource(name);
  if (source === undefined) return;
  const given = command.options.find((each) => each.attributeName() === name);
  const shownName = source === 'env' ? given?.envVar : given?.long;
  throw new CommandFailure(EXIT.usage, `${shownName ?? name} needs ${needed}`);
}

/** @throws {@link CommandFailure} for more permits than the semaphore has. */
export function refuseMorePermits(permits: number | undefined, limit: number): void {
  if (permits === undefined || permits <= limit) return;
  throw new CommandFailure(EXIT.usage, `--permits must be at most --limit, got ${permits} of ${limit}`);
}

export const commonOptions = (): readonly Option[] => [
  option('--uri <uri>', 'connection string; also by MONGODB_URI'),
  option('--db <name>', 'database; without it, the database that the URI names'),
  option('--collection <name>', 'collection of the locks').default('distributed.locks'),
  option('--json', 'print one JSON object per line'),
  option('--no-color', 'print without colours; also by NO_COLOR, and in CI'),
];

export const leaseOption = (): Option =>
  option('--lease <duration>', 'how long the lock stays taken after this process has died')
    .argParser((text) => leaseLength('--lease, in ms,', duration(text)))
    .default(30_000, '30s');

export const killOption = (): Option =>
  option('--kill-after <duration>', 'time from SIGTERM to SIGKILL').argParser(duration).default(5_000, '5s');

export const timeoutOption = (description: string): Option =>
  option('-w, --timeout <duration>', description).argParser(duration);

export const everyOption = (): Option =>
  option('--every <duration>', 'time between two looks').argParser(positiveDuration).default(1_000, '1s');

export const whyOption = (description: string): Option =>
  option('--why <text>', description).argParser((text) => shortText('--why', text));

export const valueOption = (): Option =>
  option('--value <text>', 'a text that the leader publishes, for example its address').argParser((text) =>
    shortText('--value', text),
  );
