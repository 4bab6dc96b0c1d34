#!/usr/bin/env node
// Folder `cli`: the command line. It uses locks through the public API of the library. Each command begins in a file of
// its own name. `program.ts` loads them all by `commands.ts` when one is called.

import { readFileSync } from 'node:fs';

import { CommanderError } from 'commander';

import { textOf } from '../error-text.js';
import { TAKES_COMMAND } from './argument-advice.js';
import { EXIT, exitCodeOf, isOfArgument } from './exit-codes.js';
import { hasSignalCome, Interrupted } from './interruption.js';
import { Output } from './output.js';
import { defineProgram } from './program.js';
import { prepareEnvironment } from './switches.js';

/**
 * How long the process may live after its command has ended and its output is written, or after a signal has ended the
 * command, in ms. What the command could not close in time must not keep the process alive.
 */
const LINGER_MS = 1_000;

/** The exit code of a process that SIGPIPE has ended. */
const BROKEN_PIPE = 141;

/**
 * The first argument or variable that looks like a URI. Messages may be printed before the arguments are parsed, and
 * must not show the secrets of that URI.
 */
const { LEASEHOLD_URI, MONGODB_URI } = process.env;
const uri = [...process.argv, LEASEHOLD_URI, MONGODB_URI].find((each) => each?.includes('://'));

let output = new Output({ uri });

process.stdout.on('error', onOutputError);
process.stderr.on('error', () => undefined);
showWarnings();
process.on('uncaughtException', (error) => {
  output.say(...linesFor(error, EXIT.internal));
  process.exit(EXIT.internal);
});
process.exitCode = await main(process.argv.slice(2));
// A pipe takes only as much as its reader leaves room for. An exit would throw away what is still to be written. After
// a signal, the process waits for the reader for at most `LINGER_MS`.
if (!hasSignalCome()) await Promise.all([written(process.stdout), written(process.stderr)]);
setTimeout(() => process.exit(), LINGER_MS).unref();

/** Resolves when the stream has passed on everything that was printed, or has failed. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => {
      resolve();
    });
  });
}

/** Runs the command that the arguments name, and resolves with the exit code. */
async function main(argv: readonly string[]): Promise<number> {
  let code: number = EXIT.ok;
  const define = (command?: readonly string[]): ReturnType<typeof defineProgram> =>
    defineProgram(versionOfPackage(), {
      command,
      act: async (call) => {
        try {
          code = await call();
        } catch (error) {
          code = failed(error, exitCodeOf(error));
        }
      },
      complain: (message) => {
        output.say(...message.split('\n'));
      },
    });
  try {
    const [own, command] = split(argv, (args) => define().parseOptions(args).operands[0] ?? '');
    const program = define(command);
    program.hook('preAction', () => {
      output = new Output(program.opts());
    });
    prepareEnvironment(program, process.env);
    await program.parseAsync(own, { from: 'user' });
    return code;
  } catch (error) {
    // Only the parser has run.
    return failed(error, isOfArgument(error) ? EXIT.usage : exitCodeOf(error));
  }
}

/**
 * Separates the arguments of this program from the command after `--`, if the arguments call `run` or `elect`. The
 * parser cannot do that: it takes `run -- make` for a `run` with the lock name `make` and without a command. If the word
 * after the first `--` begins with `-`, it is no command but a name, as in `run -- -x -- make`.
 */
function split(
  argv: readonly string[],
  commandIn: (args: string[]) => string,
): readonly [own: readonly string[], command: readonly string[] | undefined] {
  const first = argv.indexOf('--');
  if (first < 0 || !TAKES_COMMAND.includes(commandIn(argv.slice(0, first)))) return [argv, undefined];
  const isName = argv[first + 1]?.startsWith('-') === true;
  const at = isName ? argv.indexOf('--', first + 2) : first;
  return at < 0 ? [argv, undefined] : [argv.slice(0, at), argv.slice(at + 1)];
}

/** Prints the error, unless the parser has printed it or a signal has ended this program. Returns the exit code. */
function failed(error: unknown, code: number): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (!(error instanceof Interrupted)) output.say(...linesFor(error, code));
  return code;
}

/** The lines of an error. With the exit code 70, they are the stack, because only the stack shows the origin. */
function linesFor(error: unknown, code: number): readonly string[] {
  const stack = code === EXIT.internal && error instanceof Error ? error.stack : undefined;
  return stack?.split('\n') ?? [textOf(error)];
}

function versionOfPackage(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

/** Prints warnings as messages of this program. They may contain names of locks, which Node.js prints unescaped. */
function showWarnings(): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ message }) => {
    output.say(message);
  });
}

/**
 * Called when stdout fails. If the running command catches signals, emits SIGPIPE, so that the command ends as after
 * that signal, and releases its lock if it holds one. Otherwise ends the program at once.
 */
function onOutputError({ code, message }: NodeJS.ErrnoException): void {
  if (code !== 'EPIPE') output.say(`cannot write to stdout: ${message}`);
  if (process.listenerCount('SIGPIPE') > 0) process.emit('SIGPIPE', 'SIGPIPE');
  else process.exit(code === 'EPIPE' ? BROKEN_PIPE : EXIT.internal);
}
