import type { Command } from 'commander';

import { CommandFailure, EXIT } from './exit-codes.js';

const ON: readonly string[] = ['1', 'true', 'yes', 'on'];
const OFF: readonly string[] = ['0', 'false', 'no', 'off'];

/**
 * Matches the value that Kubernetes gives the variable `LEASEHOLD_PORT` in containers, if there is a service with the
 * name leasehold.
 */
const PORT_OF_SERVICE = /^(tcp|udp|sctp):\/\//;

/**
 * Decides which variables the parser reads. For the parser, a switch is on if its variable has any value, so the
 * variable of a switch that is off is ignored. Empty variables and a port that Kubernetes has set are ignored too.
 * Without LEASEHOLD_URI, the URI comes from MONGODB_URI.
 *
 * @throws {@link CommandFailure} for a value of a switch that means neither on nor off.
 */
export function prepareEnvironment(program: Command, environment: NodeJS.ProcessEnv): void {
  for (const option of [program, ...program.commands].flatMap(({ options }) => options)) {
    const { envVar } = option;
    const value = envVar === undefined ? '' : (environment[envVar] ?? '');
    const isSwitch = !option.required && !option.optional;
    if (option.long === '--uri' && value === '') option.env('MONGODB_URI');
    else if (value === '') delete option.envVar;
    else if (option.long === '--port' && PORT_OF_SERVICE.test(value)) delete option.envVar;
    if (value === '' || !isSwitch) continue;
    if (OFF.includes(value.toLowerCase())) delete option.envVar;
    else if (!ON.includes(value.toLowerCase())) {
      throw new CommandFailure(EXIT.usage, `${envVar} is ${JSON.stringify(value)}; a switch is 1 or 0`);
    }
  }
}
