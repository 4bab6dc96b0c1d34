// Makes docs/command-line.md from the definitions of the commands. A test compares the page with what this makes:
// `npx vitest run test/docs/command-line.test.ts -u` writes it.
import type { Argument, Command, Option } from 'commander';
import { format } from 'prettier';

import { EXIT_CODE_MEANINGS } from '../src/cli/exit-codes.js';
import { defineProgram } from '../src/cli/program.js';

const INTRODUCTION = `# The command line

\`leasehold\` runs commands under locks, shows locks, and revokes holds. It comes with the package and needs the driver:
\`npm install leasehold mongodb\`, then \`npx leasehold\`. \`leasehold help COMMAND\` prints the
options of one command. This page is made from the definitions of the commands.

\`\`\`sh
export MONGODB_URI='mongodb://db1,db2,db3/app?replicaSet=rs0'
leasehold run nightly-report -n -- ./report.sh
\`\`\`

Data goes to stdout, messages go to stderr. With \`--json\`, each row is one object on one line: a \`LockSnapshot\`
(\`ls\`, \`show\`, \`top\`, \`watch\`, \`resize\`), a \`RevokeResult\` (\`revoke\`), a \`LeaderInfo\` (\`elect --observe\`), or
\`{ check, status, detail, advice }\` (\`doctor\`). Control characters, escape sequences and invisible characters of names and
labels are shown escaped, because any process that may write to the collection chooses them. The password of the URI is
never printed. On the command line it is in the list of processes, so set \`MONGODB_URI\` instead.

A duration is a number with a unit: \`250ms\`, \`30s\`, \`5m\`, \`2h\`, and at most \`596h\`. Each option is also a variable, named below; an option on
the command line outranks its variable. The variable of a switch is \`1\` or \`0\`. An empty variable is the same as none.
An option on the command line also outranks the variables of the options that it excludes: \`-n\` is without
\`LEASEHOLD_TIMEOUT\`. A command after \`--\` outranks \`LEASEHOLD_COMMAND\` and \`LEASEHOLD_OBSERVE\`. A
\`LEASEHOLD_PORT\` of the form \`tcp://…\` is ignored: Kubernetes sets it for a service with the
name leasehold.

A name that begins with \`-\` stands after \`--\`: \`leasehold show -- -x\`. The options come before it. \`run\` and \`elect\` have
a second \`--\` before the command: \`leasehold run -n -- -x -- make\`.

## What run guarantees

- The command starts when the lock is held. The lock is released when the command has ended, or later with
  \`--hold-at-least\`.
- The command gets stdin, stdout and stderr, and \`LEASEHOLD_NAME\` and \`LEASEHOLD_TOKEN\`: the name of the lock and the
  [fencing token](fencing.md).
- If the lock is lost or revoked, the command gets SIGTERM at once, and SIGKILL after \`--kill-after\`. The exit code is 76. With
  \`--on-loss warn\` the command goes on instead, and 76 comes at its end.
- SIGTERM and SIGHUP to \`leasehold\` are passed on, and SIGKILL follows after \`--kill-after\`. SIGINT, SIGQUIT, SIGUSR1 and
  SIGUSR2 are passed on, and nothing follows. A signal during the wait leaves the queue.
- Without a terminal, the command leads a process group of its own. Signals go to the whole group, and after SIGTERM the
  lock is held until the whole group has ended. A process that the command moves to another group or session is not
  followed.
- If stdin, stdout or stderr is a terminal, the command stays in the foreground process group, so that it can read the
  terminal. The terminal sends ctrl-C and ctrl-\\\\ to it, so \`leasehold\` does not pass them on. Other signals go to the
  command alone: it has to end what it has started. Write \`-c 'exec make'\` so that the shell leaves no process between.
- A command that runs as another user, for example by sudo, may get no signal, because the system forbids it. The lock is
  held until the command has ended, or until it is lost.
- If \`leasehold\` itself is killed by SIGKILL, **the command goes on without a lock**. Nothing is released, so other
  processes wait until the lease is over (\`--lease\`). The command can learn of it: its parent process is then another one.
  Only the token protects the data.
- If \`leasehold\` ends by an internal error (70), the command gets SIGKILL.
- If \`leasehold\` is suspended for longer than the lease, for example by ctrl-Z, the lock is lost. The command gets SIGTERM
  when \`leasehold\` runs again.

\`elect\` is the same for one term of an election. The seat of the leader stays taken until the command has ended, or until
the lease is over after a loss.

## One crontab line on many machines

\`\`\`
*/5 * * * * leasehold run report -n -E 0 --hold-at-least 1m --lease 1m -- /usr/local/bin/report
\`\`\`

Each machine tries at each instant. One of them gets the lock and runs the command. The others find the lock busy and end
at once (\`-n\`). With \`-E 0\` they end with 0 and print nothing, so cron sends no mail.

- **Set \`--hold-at-least\`.** Without it, a machine that tries after the end of a short command finds the lock free, and
  runs the command again.
- **An instant runs once at most if all machines try within that time**, counted from the first one. Differences of the
  clocks, the start of the process and the connection to the server are part of it: one minute is plenty for machines
  with NTP.
- **It must be shorter than the time between two instants**, and by more than those differences. A machine that tries
  while the lock is still held for the last instant does not run.
- If the command takes longer than the time between two instants, the instants in between run nowhere.
- If the machine that runs the command dies, the lock stays taken until the lease is over, and the instant is not run
  again. Keep \`--lease\` as long as \`--hold-at-least\` or longer, so that the promise holds in this case too.
- If no machine reaches the server, the instant runs nowhere: each of them ends with 69 and says so, and cron sends that.
- A signal to \`leasehold\` and a revocation end the time early. So does a loss of the lock: the exit code is then 76.

cron sets few variables and a short \`PATH\`: set \`MONGODB_URI\` in the crontab, and write whole paths. A
[scheduled job](scheduled-jobs.md) claims each instant in the store instead. It needs no such bound, and it reports the
instants that it has missed.

## Servers that do not answer

A server that does not answer is exit code 69 within 20 seconds. With \`-w\` it is 69 when the time is up, but each command
gives a server at least one second. If the time is up while the lock is busy, the code is 75. If the store answered first and
was silent at the end, the code is 69.

`;

/** The page, formatted. */
export async function commandLinePage(): Promise<string> {
  const program = defineProgram('', {
    command: undefined,
    act: () => Promise.resolve(),
    complain: () => undefined,
  });
  const parts = [
    INTRODUCTION,
    '## Options of every command\n\n',
    optionTable(program.options),
    ...program.commands.map(section),
    '## Exit codes\n\n| code | meaning |\n| --- | --- |\n',
    EXIT_CODE_MEANINGS.map(([code, meaning]) => `| ${code} | ${meaning} |\n`).join(''),
  ];
  return await format(parts.join(''), { parser: 'markdown', printWidth: 110, singleQuote: true });
}

function section(command: Command): string {
  return [
    `## leasehold ${command.name()}\n\n${command.description()}\n\n`,
    `\`\`\`sh\nleasehold ${command.name()} ${command.usage().replaceAll('<', '').replaceAll('>', '')}\n\`\`\`\n\n`,
    argumentList(command.registeredArguments),
    command.options.length === 0 ? '' : optionTable(command.options),
    examplesOf(command),
  ].join('');
}

const argumentList = (all: readonly Argument[]): string =>
  `${all.map((each) => `- \`${each.name()}\`: ${each.description}\n`).join('')}\n`;

function optionTable(options: readonly Option[]): string {
  const rows = options.map((option) => {
    const { flags, description, envVar = '', defaultValueDescription } = option;
    const isSwitch = !option.required && !option.optional;
    const given = option.defaultValue as string | number | undefined;
    const value = isSwitch ? '' : (defaultValueDescription ?? given ?? '');
    const variable = envVar === '' ? '' : `\`${envVar}\``;
    return `| \`${flags}\` | ${description} | ${value} | ${variable} |\n`;
  });
  return `| option | meaning | default | variable |\n| --- | --- | --- | --- |\n${rows.join('')}\n`;
}

/** The examples of the help. */
function examplesOf(command: Command): string {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  const [, examples = ''] = help.split('Examples:\n');
  return `\`\`\`sh\n${examples.trimEnd().replaceAll(/^ {2}/gm, '')}\n\`\`\`\n\n`;
}
