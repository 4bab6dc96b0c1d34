import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

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

it('writes a script for zsh with every command, which zsh can read where it is installed', async () => {
  const script = await scriptFor('zsh');
  expect(script).toMatch(/^#compdef leasehold\n/);
  expect(script).toContain("'--kill-after:time from SIGTERM to SIGKILL'");
  const { error, stderr } = spawnSync('zsh', ['-n'], { input: script, encoding: 'utf8' });
  if (error === undefined) expect(stderr).toBe('');
});

it('completes the command help, the command after it, and the option --help', async () => {
  const script = await scriptFor('bash');
  expect(completed(script, 'he')).toEqual(['help']);
  expect(completed(script, 'help', 'el')).toEqual(['elect']);
  expect(completed(script, 'help', '--ki')).toEqual(['']);
  expect(completed(script, '--he')).toEqual(['--help']);
  expect(completed(script, 'run', '--he')).toEqual(['--help']);
  const forZsh = await scriptFor('zsh');
  expect(forZsh).toContain("'help:print help'");
  expect(forZsh).toContain("'--help:print help'");
});

it('completes the words that an option or an argument takes', async () => {
  const script = await scriptFor('bash');
  expect(completed(script, 'run', 'x', '--on-loss', '')).toEqual(['kill', 'warn']);
  expect(completed(script, 'run', 'x', '--on-loss', 'w')).toEqual(['warn']);
  expect(completed(script, 'completion', 'z')).toEqual(['zsh']);
  const forZsh = await scriptFor('zsh');
  expect(forZsh).toContain('--on-loss) compadd -- kill warn');
  expect(forZsh).toContain('completion) compadd -- bash zsh');
});

it('knows no other shell', async () => {
  expect((await call(['completion', 'fish'])).code).toBe(64);
});
