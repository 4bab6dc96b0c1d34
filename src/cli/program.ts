// The definitions of all commands. The parser, the help, the completion and the page docs/command-line.md follow from
// them. The code of the commands, the library and the driver are loaded only when a command is called, so that the help
// does not wait for them.

import { Argument, Command } from 'commander';

import { parseName } from '../options/checks.js';
import { withAdvice } from './argument-advice.js';
import {
  commonOptions,
  everyOption,
  excludeEachOther,
  killOption,
  leaseOption,
  option,
  refuseMorePermits,
  refuseWithout,
  timeoutOption,
  valueOption,
  whyOption,
} from './command-options.js';
import type { CommonOptions } from './connection.js';
import type { DashboardCommandOptions } from './dashboard.js';
import type { ElectOptions } from './elect.js';
import { EXIT, EXIT_CODE_MEANINGS } from './exit-codes.js';
import type { LsOptions } from './ls.js';
import type { RevokeCommandOptions } from './revoke.js';
import type { RunOptions } from './run.js';
import type { TopOptions } from './top.js';
import { duration, hostToListenOn, integer } from './values.js';
import type { WaitOptions } from './wait.js';

/** What the program gives to the definitions of the commands. */
export interface Host {
  /** The words after the `--` that begins a command; `undefined` if there is no such `--`. */
  readonly command: readonly string[] | undefined;
  /** Runs one command of leasehold. `call` resolves with its exit code. */
  readonly act: (call: () => Promise<number>) => Promise<void>;
  /** Says what is wrong with the arguments. */
  readonly complain: (message: string) => void;
}

/** All in one file: to load one file of each command takes Node.js longer than to load all commands at once. */
const commands = (): Promise<typeof import('./commands.js')> => import('./commands.js');

/** The largest limit of a semaphore. */
const MAX_LIMIT = 2 ** 31 - 1;

export function defineProgram(version: string, host: Host): Command {
  const program = new Command('leasehold')
    .description('Distributed locks on MongoDB: run commands under locks, show locks, revoke holds.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [COMMAND]', 'print help')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      outputError: (message) => {
        host.complain(withAdvice(message.trim().replace(/^error: /, ''), program.args[0], host.command));
      },
    })
    .exitOverride();
  program.addHelpText('before', ({ error: isError }) => refuseUnknownTopic(program, isError));
  program.addHelpText('after', '\nEach option is also a variable: --kill-after is LEASEHOLD_KILL_AFTER.');
  program.addHelpText('after', `\nExit codes:\n${EXIT_CODE_LINES}`);
  for (const each of commonOptions()) program.addOption(each);
  defineRun(program, host);
  defineElect(program, host);
  defineLooks(program, host);
  defineChanges(program, host);
  defineDashboard(program, host);
  defineSetup(program, host);
  return program;
}

/** Refuses `help` with an unknown command. Without this function, the parser prints the general help instead. */
function refuseUnknownTopic(program: Command, isError: boolean): string {
  const [first, topic] = program.args;
  if (isError && first === 'help' && topic !== undefined && topic !== first)
    program.error(`unknown command '${topic}'`);
  return '';
}

const EXIT_CODE_LINES = EXIT_CODE_MEANINGS.map(
  ([code, meaning]) => `  ${code.padEnd(10)} ${meaning.replaceAll('`', '')}`,
).join('\n');

const examples = (...calls: readonly string[]): string =>
  `\nExamples:\n${calls.map((call) => `  leasehold ${call}`).join('\n')}`;

function defineRun(program: Command, { command: given, act }: Host): void {
  const shellText = option('-c, --command <string>', 'run this text by /bin/sh');
  if (given !== undefined) delete shellText.envVar;
  const run = program
    .command('run')
    .usage('NAME [options] [-- COMMAND [ARGUMENT...]]')
    .description(
      'Hold a lock while a command runs. Without a command, print the token and hold until SIGINT or SIGTERM.',
    )
    .argument('NAME', 'the lock', parseName)
    .addOption(option('-s, --shared', 'hold a reader-writer lock for reading'))
    .addOption(option('-x, --exclusive', 'hold a reader-writer lock for writing'))
    .addOption(
      option('--limit <n>', 'hold permits of a semaphore of this limit').argParser(integer(1, MAX_LIMIT)),
    )
    .addOption(option('--permits <n>', 'how many permits; without it, one').argParser(integer(1, MAX_LIMIT)))
    .addOption(timeoutOption('give up after this time; without it, wait without a bound'))
    .addOption(option('-n, --nonblock', 'give up at once if the lock is busy'))
    .addOption(
      option('-E, --conflict-exit-code <n>', 'exit code if the lock is busy or the time is up')
        .argParser(integer(0, 255))
        .default(EXIT.busy),
    )
    .addOption(whyOption('what the lock is held for; other processes see it'))
    .addOption(leaseOption())
    .addOption(
      option(
        '--hold-at-least <duration>',
        'keep the lock for this time, also if the command has ended',
      ).argParser(duration),
    )
    .addOption(killOption())
    .addOption(
      option('--on-loss <action>', 'what to do with the command if the lock is lost')
        .choices(['kill', 'warn'])
        .default('kill'),
    )
    .addOption(shellText)
    .addHelpText(
      'after',
      examples(
        'run nightly-report -n -- ./report.sh',
        'run nightly-report -n -E 0 --hold-at-least 30s -- ./report.sh',
        'run deploy -w 5m --why "release 42" -- make deploy',
        'run catalogue -s -c "cp -r catalogue /backup"',
        'run imports --limit 3 -- node import.js',
      ),
    )
    .action(async (name: string, _: object, self: Command) => {
      const options = self.optsWithGlobals<RunOptions>();
      await act(async () => {
        if (options.limit === undefined) refuseWithout(self, 'permits', '--limit');
        else refuseMorePermits(options.permits, options.limit);
        if (options.command === undefined && given === undefined)
          refuseWithout(self, 'holdAtLeast', 'a command');
        return (await commands()).run(name, options, given);
      });
    });
  excludeEachOther(run, 'shared', 'exclusive', 'limit');
  excludeEachOther(run, 'shared', 'exclusive', 'permits');
  excludeEachOther(run, 'nonblock', 'timeout');
}

function defineElect(program: Command, { command: given, act }: Host): void {
  const observe = option('--observe', 'print one line for each leader instead');
  if (given !== undefined) delete observe.envVar;
  const elect = program
    .command('elect')
    .usage('NAME [options] [-- COMMAND [ARGUMENT...]]')
    .description(
      'Wait to be elected, and lead while a command runs. Without a command, print the token and lead until SIGINT or SIGTERM.',
    )
    .argument('NAME', 'the election', parseName)
    .addOption(valueOption())
    .addOption(leaseOption())
    .addOption(killOption())
    .addOption(observe)
    .addHelpText(
      'after',
      examples('elect scheduler --value "$(hostname)" -- ./scheduler', 'elect scheduler --observe --json'),
    )
    .action(async (name: string, _: object, self: Command) => {
      const options = self.optsWithGlobals<ElectOptions>();
      await act(async () => (await commands()).elect(name, options, given));
    });
  excludeEachOther(elect, 'value', 'observe');
}

function defineLooks(program: Command, { act }: Host): void {
  program
    .command('ls')
    .description('List the stored locks in the order of their names.')
    .argument('[PREFIX]', 'only names that begin with this text')
    .addOption(option('--held', 'only locks that have a holder'))
    .addHelpText('after', examples('ls', 'ls invoice: --held', 'ls --json'))
    .action(async (prefix: string | undefined, _: object, self: Command) => {
      const options = self.optsWithGlobals<LsOptions>();
      await act(async () => (await commands()).ls(prefix, options));
    });
  program
    .command('show')
    .description('Show one lock with its holders and its queue.')
    .argument('NAME', 'the lock', parseName)
    .addHelpText('after', examples('show deploy', 'show deploy --json'))
    .action(async (name: string, _: object, self: Command) => {
      const options = self.optsWithGlobals<CommonOptions>();
      await act(async () => (await commands()).show(name, options));
    });
  program
    .command('top')
    .description('Show the locks with the most waiters, live. Without a terminal, print them once.')
    .argument('[PREFIX]', 'only names that begin with this text')
    .addOption(everyOption())
    .addHelpText('after', examples('top', 'top invoice: --every 5s'))
    .action(async (prefix: string | undefined, _: object, self: Command) => {
      const options = self.optsWithGlobals<TopOptions>();
      await act(async () => (await commands()).top(prefix, options));
    });
  program
    .command('watch')
    .description('Print a lock, and print it again when its holders, its queue or its limit change.')
    .argument('NAME', 'the lock', parseName)
    .addHelpText('after', examples('watch deploy', 'watch deploy --json'))
    .action(async (name: string, _: object, self: Command) => {
      const options = self.optsWithGlobals<CommonOptions>();
      await act(async () => (await commands()).watch(name, options));
    });
  program
    .command('wait')
    .description(
      'Wait until a lock has no holder. The command takes no place in the queue and acquires nothing.',
    )
    .argument('NAME', 'the lock', parseName)
    .addOption(timeoutOption('give up after this time; without it, wait without a bound'))
    .addHelpText('after', examples('wait deploy -w 10m'))
    .action(async (name: string, _: object, self: Command) => {
      const options = self.optsWithGlobals<WaitOptions>();
      await act(async () => (await commands()).wait(name, options));
    });
}

function defineChanges(program: Command, { act }: Host): void {
  program
    .command('revoke')
    .description('Ask the holders of a lock to release it.')
    .argument('NAME', 'the lock', parseName)
    .addOption(option('--id <id>', 'only the hold of this id; `show` prints the ids'))
    .addOption(whyOption('the reason that the holders are told'))
    .addOption(option('--force', 'empty the seats at once; the old holders may go on working for a while'))
    .addHelpText('after', examples('revoke deploy --why "stuck since noon"', 'revoke deploy --force'))
    .action(async (name: string, _: object, self: Command) => {
      const options = self.optsWithGlobals<RevokeCommandOptions>();
      await act(async () => (await commands()).revoke(name, options));
    });
  program
    .command('resize')
    .description('Set the limit of a stored semaphore. A lower limit takes no permit away.')
    .argument('NAME', 'the semaphore', parseName)
    .argument('N', 'the new limit', integer(1, MAX_LIMIT))
    .addHelpText('after', examples('resize imports 5'))
    .action(async (name: string, limit: number, _: object, self: Command) => {
      const options = self.optsWithGlobals<CommonOptions>();
      await act(async () => (await commands()).resize(name, limit, options));
    });
}

function defineDashboard(program: Command, { act }: Host): void {
  program
    .command('dashboard')
    .description(
      'Serve a page that shows all locks live, until SIGINT or SIGTERM. Print its URL, which has a token: without the token, every request is refused.',
    )
    .addOption(
      option('--port <n>', 'port of the page; 0 is any free one').argParser(integer(0, 65_535)).default(0),
    )
    .addOption(
      option('--host <address>', 'address on which the page is served; the connection is not encrypted')
        .argParser(hostToListenOn)
        .default('127.0.0.1'),
    )
    .addOption(option('--allow-revoke', 'let the page revoke holds'))
    .addOption(option('--open', 'open the page in the browser'))
    .addHelpText('after', examples('dashboard --open', 'dashboard --port 8080 --allow-revoke'))
    .action(async (_: object, self: Command) => {
      const options = self.optsWithGlobals<DashboardCommandOptions>();
      await act(async () => (await commands()).dashboard(options));
    });
}

function defineSetup(program: Command, { act }: Host): void {
  program
    .command('doctor')
    .description('Check the server, the user, the clocks and the collection, and say what to do.')
    .addHelpText('after', examples('doctor', 'doctor --json'))
    .action(async (_: object, self: Command) => {
      const options = self.optsWithGlobals<CommonOptions>();
      await act(async () => (await commands()).doctor(options));
    });
  program
    .command('completion')
    .description('Print a script that completes commands and options in a shell.')
    .addArgument(new Argument('SHELL', 'the shell').choices(['bash', 'zsh']))
    .addHelpText('after', examples('completion bash'))
    .addHelpText('after', '  eval "$(leasehold completion bash)"  # in .bashrc')
    .addHelpText('after', '  eval "$(leasehold completion zsh)"  # in .zshrc, after compinit')
    .action(async (shell: 'bash' | 'zsh') => {
      await act(async () => (await import('./completion.js')).completion(shell, program));
    });
}
