// Makes docs/command-line.md from the definitions of the commands. A test compares the page with what this makes:
// `npx vitest run test/docs/command-line.test.ts -u` writes it.
import type { Argument, Command, Option } from 'commander';
import { format } from 'prettier';

import { EXIT_CODE_MEANINGS } from '../src/cli/exit-codes.js';
import { defineProgram } from '../src/cli/program.js';

const INTRODUCTION = `# The command line

\`leasehold\` runs commands under locks, shows locks, and revokes holds. It comes with the package:
\`npm install leasehold\`, then \`npx leasehold\`. \`leasehold help COMMAND\` prints the
options of one command. This page is made from the definitions of the commands.

A driver of version 7 is inside, and the driver of an application does not matter. Some servers and credentials need a
package more: \`kerberos\`, \`@aws-sdk/credential-providers\`, \`gcp-metadata\`, \`socks\`, \`snappy\`, \`@mongodb-js/zstd\`.
Install it beside \`leasehold\`, in the version that the driver 7 asks for. If the application needs another version of it,
install the command line in a folder of its own.

\`\`\`sh
export MONGODB_URI='mongodb://db1,db2,db3/app?replicaSet=rs0'
leasehold run nightly-report -n -- ./report.sh
\`\`\`

Data goes to stdout, messages go to stderr. With \`--json\`, each row is one object on one line: a \`LockSnapshot\`
(\`ls\`, \`show\`, \`top\`, \`watch\`, \`resize\`), a \`RevokeResult\` (\`revoke\`), a \`LeaderInfo\` (\`elect --observe\`; \`{ candidateId: null }\` if nobody leads),
\`{ token }\` (\`run\`, \`elect\`), \`{ url }\` (\`dashboard\`), or \`{ check, status, detail, advice }\` (\`doctor\`). Control characters, escape sequences and invisible characters of names and
labels are shown escaped, because any process that may write to the collection chooses them. The password of the URI is
never printed. On the command line it is in the list of processes, so set \`MONGODB_URI\` instead.

The columns of a table are separated by two spaces or more. On a terminal, \`ls\` cuts a name at 40 characters and \`top\` at
half the width, with an ellipsis; \`show\` and \`--json\` have the whole name. Without a terminal nothing is cut, and a name of
more than 40 characters moves only its own row. East Asian characters and emoji count as two. \`ls\` and \`top\` leave corrupt documents out: they name them on stderr and
end with 70, and \`top\` on a terminal counts them in its first line.

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
- If \`leasehold\` itself is killed by SIGKILL, for example for lack of memory, **the command goes on without a lock**; see
  [below](#if-leasehold-is-killed).
- If \`leasehold\` ends by an internal error (70), the command gets SIGKILL.
- If \`leasehold\` is suspended for longer than the lease, for example by ctrl-Z, the lock is lost. The command gets SIGTERM
  when \`leasehold\` runs again.
- **\`nohup leasehold run …\` ends with its terminal.** Node.js gives an ignored SIGHUP its usual effect again, so
  \`leasehold\` passes it on to the command. Start it by \`setsid leasehold run … &\`, which leaves the session of the
  terminal, or as a service, for example by \`systemd-run\`.

\`elect\` is the same for one term of an election. The seat of the leader stays taken until the command has ended, or until
the lease is over after a loss.

## If leasehold is killed

A process cannot act at its own SIGKILL. The command goes on, and nothing is released. Other processes wait until the lease
is over (\`--lease\`). Then one of them gets the lock **while the command still runs**. With \`flock\` it is the other way
round: there the command inherits the lock, and keeps it until its own end.

- **Compare the token.** Only the token protects the data in this case, and whenever a process stands still: the resource
  refuses a \`LEASEHOLD_TOKEN\` that is lower than one it has seen. See [fencing](fencing.md).
- **On Linux, the kernel can kill the command together with \`leasehold\`**:
  \`leasehold run NAME -- setpriv --pdeathsig KILL COMMAND\`. This reaches the command, and not what it has started.
- **As a service of systemd**, everything ends together: when \`leasehold\` has ended, systemd kills what is left in the
  unit, unless \`KillMode\` was changed. \`systemd-run --pipe --wait leasehold run …\` makes such a unit for one command.
- **As the first process of a container**, \`leasehold\` takes all processes of the container with it.
- The command itself can learn of it: its parent process is then another one.

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
- If the server does not answer, the command ends with 69 and a message, which cron sends. If no machine reaches the
  server, the instant runs nowhere.
- A signal to \`leasehold\` and a revocation end the time early. So does a loss of the lock: the exit code is then 76.

Measured on 2026-11-28 with Node.js 20.20 and MongoDB 6.0: ten processes tried at each of ten instants in five minutes, one
every 30 s, with \`--hold-at-least 15s\` and clocks up to 1.35 s apart. All ten instants were within the bounds above, and each
ran once: none twice, none not at all. 90 of 100 attempts were refused, none was without an answer. This repeats it:
\`npx vitest run --mode long test/behaviour/command-line/fleet.test.ts -t crontab\`.

**A start takes about 0.2 s**, most of it to load the driver: see [performance](performance.md#the-start-of-the-command-line).
With Node.js 22 or newer, set \`NODE_COMPILE_CACHE\` to a folder into which nobody else can write: Node.js keeps the compiled
code there, and a \`leasehold run\` then took 222 ms instead of 248 (medians of 11 with Node.js 24.21, 2026-11-29). Node.js 20
reads the file of \`NODE_EXTRA_CA_CERTS\` at every start. That took 0.1 s for the certificates of a whole system; leave the
variable out if the server does not need it.

cron sets few variables and a short \`PATH\`: set \`MONGODB_URI\` in the crontab, and write whole paths. A
[scheduled job](scheduled-jobs.md) claims each instant in the store instead. It needs no such bound, and it reports the
instants that it has missed.

## Servers that do not answer

A server that does not answer is exit code 69 within 20 seconds, also if it accepts connections. \`dashboard\` serves its
page only after a first answer. Only the wait behind a holder has no bound. With \`-w\` it is 69 when the time is up, but each command gives a server at least one second for the
connection, and then at least one second for the first answer. If the time is up while the lock is busy, the code is 75. If the store answered first and
was silent at the end, the code is 69. After their first answer, \`watch\` and \`wait\` report an outage once and wait it
out, and \`top\` on a terminal shows it and goes on.

\`run\`, \`elect\` and \`dashboard\` go on during an outage. They report an outage when it begins, once a minute while it
lasts, and when the store answers again, whatever it disturbs; \`dashboard\` does so only while somebody views the page.
What does not pass by itself, such as a missing privilege or a server without change streams, has a line of its own.

At its end, a command gives back its lock, its term or its place in the queue. If no signal has come, a server that does
not answer gets up to 12 seconds for a lock or a term, which is longer than most elections of a primary, and the process
ends within 14. After a signal, and for a place in the queue, it gets up to 4 seconds, and the process ends within 6; then
\`leasehold\` says so within a second. **From then on, another signal ends it at once**, with the exit code of that signal.
What the server has not answered may have been given back or not; it ends when its lease is over, and \`leasehold\` says so.

## What doctor checks

\`doctor\` prints one finding for each check: \`ok\`, \`warn\` or \`fail\`, and then why it matters and what to do. One \`fail\` makes the exit code 1. A
check that gets no answer within 5 seconds is a \`fail\`. If the server then answers nothing at all, the checks that need it
are not run, which is a \`warn\` with the reason. The last check begins within 30 seconds. If the first check gets no answer,
\`doctor\` ends with 69.

| check | what it looks at |
| --- | --- |
| server | the version of the server; below 5.0 is a \`fail\` |
| driver | the version of the driver that is inside; that of an application is not looked at |
| replica set | whether the server is a replica set, and at least how many members have data; hidden ones are not counted. A standalone server is a \`fail\`, fewer than three members are a \`warn\` |
| change streams | whether a change stream opens, so that waiters need not poll |
| privileges | which privileges the user lacks |
| index | whether the index is there that purges unused locks; without the privilege listIndexes, not looked at |
| documents | how many lock documents are corrupt, and the names of some; see [operations](operations.md#a-corrupt-document) |
| pool | whether the pool has room for change streams: fewer than 3 connections are a \`warn\`, and with 3 a dashboard polls |
| clocks | the clocks of the members against each other and against this machine: members 1 s apart are a \`fail\` and 0.5 s a \`warn\`, 1 s from this machine is a \`warn\` |
| round trip | the time to the primary and back; from 200 ms on, a \`warn\` |
| majority write | the time for acquiring and releasing a lock, \`leasehold:doctor\` or the next free one up to \`leasehold:doctor:8\`; from 400 ms on, a \`warn\` |
| streams open | how many change streams are open on the collection; without the privilege inprog, not counted |
| kept seats | how many seats are taken, and how many of them processes keep between their callers |

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
