import { Option } from 'commander';

import { duration, positiveDuration } from './values.js';

/** An option that the environment also sets: `--kill-after` by `LEASEHOLD_KILL_AFTER`. */
export function option(flags: string, description: string): Option {
  const made = new Option(flags, description);
  return made.env(`LEASEHOLD_${made.name().replaceAll('-', '_').toUpperCase()}`);
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
    .argParser(duration)
    .default(30_000, '30s');

export const killOption = (): Option =>
  option('--kill-after <duration>', 'time from SIGTERM to SIGKILL').argParser(duration).default(5_000, '5s');

export const timeoutOption = (description: string): Option =>
  option('-w, --timeout <duration>', description).argParser(duration);

export const everyOption = (): Option =>
  option('--every <duration>', 'time between two looks').argParser(positiveDuration).default(1_000, '1s');
