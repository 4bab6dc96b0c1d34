import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { BUSY_MACHINE_MS } from '../../../lab/patience.js';
import { cacheFolder } from '../../../lab/processes/program.js';
import { call, useCommandLine } from './command-line.js';

useCommandLine();

const scriptFor = async (shell: string): Promise<string> => (await call(['completion', shell])).stdout;

function completed(script: string, ...words: readonly string[]): readonly string[] {
  const quoted = ['leasehold', ...words].map((word) => `'${word}'`).join(' ');
  const ask = `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _leasehold; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', `${script}\n${ask}`], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.trim().split('\n');
}

it('completes commands and their options in bash', async () => {
  const script = await scriptFor('bash');
  expect(completed(script, 're')).toEqual(['revoke', 'resize']);
  expect(completed(script, 'run', 'x', '--ki')).toEqual(['--kill-after']);
  expect(completed(script, 'run', 'x', '--ur')).toEqual(['--uri']);
  expect(completed(script, 'ls', '--ki')).toEqual(['']);
  expect(completed(script, 'run', 'x', '--', '--ki')).toEqual(['']);
});

it('completes the command help, the command after it, and the option --help', async () => {
  const script = await scriptFor('bash');
  expect(completed(script, 'he')).toEqual(['help']);
  expect(completed(script, 'help', 'el')).toEqual(['elect']);
  expect(completed(script, 'help', '--ki')).toEqual(['']);
  expect(completed(script, '--he')).toEqual(['--help']);
  expect(completed(script, 'run', '--he')).toEqual(['--help']);
});

it('completes the words that an option or an argument takes', async () => {
  const script = await scriptFor('bash');
  expect(completed(script, 'run', 'x', '--on-loss', '')).toEqual(['kill', 'warn']);
  expect(completed(script, 'run', 'x', '--on-loss', 'w')).toEqual(['warn']);
  expect(completed(script, 'completion', 'z')).toEqual(['zsh']);
});

it('knows no other shell', async () => {
  expect((await call(['completion', 'fish'])).code).toBe(64);
});

/**
 * Types each line after the first argument in an interactive zsh, in a pseudo-terminal. ctrl-X inserts everything that
 * completes the line. Then `leasehold` prints its arguments. The first argument loads the script.
 */
const IN_ZSH = `
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner "PS1=; autoload -Uz compinit; $1"
zpty -w inner "zle -C every complete-word _generic; bindkey '^X' every"
zpty -w inner "zstyle ':completion:every:*' completer _all_matches _complete"
zpty -w inner "zstyle ':completion:every:*' insert true"
zpty -w inner 'leasehold() { print -r -- "<got>$*</got>" }; print rea""dy'
zpty -r -m inner printed '*ready*'
for line in "\${@:2}"; do
  zpty -w -n inner "leasehold $line"$'\x18\n'
  zpty -r -m inner printed '*</got>*'
  print -r -- "\${\${printed##*<got>}%%</got>*}"
done
`;

describe.skipIf(spawnSync('zsh', ['--version']).error !== undefined)('completion in zsh', () => {
  const COMPLETED = [
    ['rev', 'revoke'],
    ['re', 'resize revoke'],
    ['he', 'help'],
    ['help el', 'help elect'],
    ['run x --ki', 'run x --kill-after'],
    ['run x --ur', 'run x --uri'],
    ['run x --he', 'run x --help'],
    ['ls --ki', 'ls --ki'],
    ['run x -- --ki', 'run x -- --ki'],
    ['run x --on-loss ', 'run x --on-loss kill warn'],
    ['run x --on-loss w', 'run x --on-loss warn'],
    ['completion ', 'completion bash zsh'],
  ] as const;

  it.each([
    ['by eval after compinit', (folder: string) => `compinit -D -u; eval "$(<'${folder}/_leasehold')"`],
    ['from a folder of $fpath', (folder: string) => `fpath=('${folder}' $fpath); compinit -D -u`],
  ])('completes the same, %s', async (_, loadFrom) => {
    await using folder = await cacheFolder('zsh');
    await writeFile(join(folder.path, '_leasehold'), await scriptFor('zsh'));
    const args = ['-f', '-c', IN_ZSH, 'zsh', loadFrom(folder.path), ...COMPLETED.map(([typed]) => typed)];
    const { stdout, stderr } = spawnSync('zsh', args, { encoding: 'utf8', timeout: BUSY_MACHINE_MS });
    expect(stderr).toBe('');
    expect(stdout.split('\n').filter((line) => line !== '')).toEqual(COMPLETED.map(([, line]) => line));
  });
});
