import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { ROOT } from '../../lab/processes/program.js';

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly needs?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly 'timeout-minutes'?: number;
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

const FOLDER = join(ROOT, '.github', 'workflows');

const workflows = readdirSync(FOLDER).map((file) => {
  const text = readFileSync(join(FOLDER, file), 'utf8');
  return { file, text, workflow: parse(text) as Workflow };
});

const jobs = workflows.flatMap(({ file, workflow }) =>
  Object.entries(workflow.jobs).map(([name, job]) => ({ name: `${file}, ${name}`, job })),
);

const commandsOf = ({ steps }: Job): string => steps.map(({ run = '' }) => run).join('\n');

const scripts = Object.keys(
  (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object }).scripts,
);

describe('a workflow', () => {
  it.each(workflows)('$file pins each action to a commit, and names its version', ({ text }) => {
    const used = text.split('\n').filter((line) => line.includes('uses:'));
    expect(used.length).toBeGreaterThan(0);
    expect(used.filter((line) => !/uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  });

  it.each(workflows)('$file has no permission that a job does not ask for', ({ workflow }) => {
    expect(workflow.permissions).toEqual({});
  });

  it.each(jobs)('$name has a bound, and its own permissions', ({ job }) => {
    expect(job['timeout-minutes']).toBeGreaterThan(0);
    expect(job.permissions).toBeDefined();
  });

  it.each(jobs)('$name runs scripts of package.json only, and no text from outside', ({ job }) => {
    const commands = commandsOf(job);
    const run = [...commands.matchAll(/npm run ([\w:-]+)/g)].map(([, script]) => script);
    expect(run.filter((script) => !scripts.includes(script ?? ''))).toEqual([]);
    // What an event brings could be shell code; a matrix is written in the file.
    const inserted = [...commands.matchAll(/\$\{\{\s*(.*?)\s*\}\}/g)].map(([, value = '']) => value);
    expect(inserted.filter((value) => !value.startsWith('matrix.'))).toEqual([]);
  });
});

describe('the release', () => {
  const release = workflows.find(({ file }) => file === 'release.yml')?.workflow;
  const { check, publish } = release?.jobs ?? {};

  it('is made by a tag of a version, and by nothing else', () => {
    expect(release?.on).toEqual({ push: { tags: ['v[0-9]+.[0-9]+.[0-9]+*'] } });
  });

  it('runs all tests and the check before it publishes', () => {
    expect(publish?.needs).toBe('check');
    if (check === undefined) throw new Error('no job check');
    const commands = commandsOf(check);
    for (const command of ['npm test', 'npm run test:long', 'npm run check'])
      expect(commands).toContain(command);
    expect(commands).toContain('"$GITHUB_REF_NAME"');
  });

  it('publishes with provenance, by the only job that may ask for an identity', () => {
    if (publish === undefined) throw new Error('no job publish');
    expect(commandsOf(publish)).toMatch(/npm publish .*--provenance/);
    const identified = jobs.filter(({ job }) => job.permissions?.['id-token'] !== undefined);
    expect(identified.map(({ name }) => name)).toEqual(['release.yml, publish']);
    expect(publish.permissions).toEqual({ 'id-token': 'write' });
  });

  it('publishes the tarball that the tests have installed, and builds nothing again', () => {
    if (check === undefined || publish === undefined) throw new Error('a job is missing');
    const commands = commandsOf(check);
    const packed = '.cache/release/leasehold.tgz';
    expect(commands.indexOf(`LEASEHOLD_TARBALL=${packed}`)).toBeGreaterThan(commands.indexOf('npm pack'));
    expect(commands.indexOf('npm run test:long')).toBeGreaterThan(commands.indexOf('LEASEHOLD_TARBALL'));
    expect(commands).toContain(`sha256sum < ${packed}`);
    expect(check.steps.map((step) => step.with?.['path'])).toContain(packed);
    expect(commandsOf(publish)).toContain('npm publish ./leasehold.tgz');
    expect(commandsOf(publish)).toMatch(/test "\$\(sha256sum < leasehold\.tgz\)" = "\$TESTED"/);
    expect(commandsOf(publish)).not.toMatch(/npm (ci|install|run|pack)/);
    expect(publish.steps.some(({ uses = '' }) => uses.startsWith('actions/checkout@'))).toBe(false);
  });
});
