// Every text that any process may store, as the commands print it: escaped for people, and exactly as stored in JSON.
import { describe, expect, it } from 'vitest';

import { eventually, later } from '../../../lab/patience.js';
import { asItIs, HOSTILE } from '../../support/hostile-texts.js';
import type { Hostile } from '../../support/hostile-texts.js';
import { keepHold } from '../../support/keep-hold.js';
import { Fleet, resultOf, untilPrinted, useCommandLine } from './command-line.js';
import type { Result } from './command-line.js';

useCommandLine();

const TEXTS: readonly Hostile[] = [asItIs('markup', '<img src=x onerror="alert(1)">'), ...HOSTILE];

/** Everything but visible characters, plain spaces and the ends of the lines. */
const HOSTILE_CHARACTER =
  /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;

const lines = (text: string): readonly unknown[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);

const expectClean = ({ stdout, stderr }: Pick<Result, 'stdout' | 'stderr'>): void => {
  expect(HOSTILE_CHARACTER.exec(stdout + stderr)?.[0]).toBe(undefined);
};

/** Starts the command twice, for people and with `--json`, and ends both when each has printed its first line. */
async function firstLines(fleet: Fleet, ...args: readonly string[]): Promise<readonly [Result, Result]> {
  const children = [fleet.start(...args), fleet.start(...args, '--json')] as const;
  for (const child of children) {
    await untilPrinted(child, '\n');
    child.signal('SIGINT');
  }
  const [text, json] = await Promise.all([resultOf(children[0]), resultOf(children[1])]);
  expect([text.code, json.code]).toEqual([130, 130]);
  return [text, json];
}

describe.concurrent.each(TEXTS)('texts with $kind', ({ text, shown }) => {
  /** A lock with this name, which a process with this label holds and another one waits for. */
  const contended = async (): Promise<Fleet> => {
    const fleet = new Fleet();
    const locks = fleet.database.plain.provider({ label: text });
    await keepHold(locks.acquireMutex(text, { why: text }));
    void later(locks.acquireMutex(text, { why: text })).catch(() => undefined);
    await fleet.untilQueued(text);
    return fleet;
  };
  const party = { label: text, why: text };

  it('are escaped by watch, top and show, and exact in their JSON', async () => {
    const fleet = await contended();
    const [watched, watchedJson] = await firstLines(fleet, 'watch', text);
    expect(watched.stdout).toMatch(/^[^\n]+\n$/);
    expect(watched.stdout).toContain(`held by ${shown} (`);
    expect(watched.stdout).toContain(`, for ${shown}; 1 waiting\n`);
    const [top, topJson, show, showJson] = await Promise.all([
      fleet.call('top'),
      fleet.call('top', '--json'),
      fleet.call('show', text),
      fleet.call('show', text, '--json'),
    ]);
    expect(top.stdout.split('\n').length).toBe(3);
    expect(top.stdout).toContain(`\n${shown} `);
    expect(top.stdout).toContain(`  ${shown} (`);
    expect(show.stdout.split(shown).length - 1).toBe(5);
    for (const json of [watchedJson, topJson, showJson])
      expect(lines(json.stdout)).toMatchObject([{ name: text, holders: [party], waiters: [party] }]);
    for (const result of [watched, watchedJson, top, topJson, show, showJson]) {
      expect(result.stderr).toBe('');
      expectClean(result);
    }
  });

  it('are escaped by elect --observe, top and watch as names, values and candidates of elections, and exact in JSON', async () => {
    const fleet = new Fleet();
    const locks = fleet.database.plain.provider({ label: text });
    const election = locks.createLeaderElection(text, { candidateId: text, value: text });
    await election.start();
    await eventually('it leads', () => election.isLeader);
    const [observed, observedJson] = await firstLines(fleet, 'elect', text, '--observe');
    expect(observed.stdout).toMatch(/^[^\n]+\n$/);
    expect(observed.stdout).toContain(`leader ${shown}  token `);
    expect(observed.stdout).toContain(`  value ${shown}\n`);
    expect(lines(observedJson.stdout)).toMatchObject([{ candidateId: text, value: text }]);
    const [watched, watchedJson] = await firstLines(fleet, 'watch', text);
    expect(watched.stdout).toContain(`held by ${shown} (`);
    const [top, topJson] = await Promise.all([fleet.call('top'), fleet.call('top', '--json')]);
    expect(top.stdout).toContain(`\n${shown} `);
    expect(top.stdout).toContain(`  ${shown} (`);
    const leader = { candidateId: text, value: text, label: text };
    for (const json of [watchedJson, topJson])
      expect(lines(json.stdout)).toMatchObject([{ name: text, kind: 'election', holders: [leader] }]);
    for (const result of [observed, observedJson, watched, watchedJson, top, topJson]) {
      expect(result.stderr).toBe('');
      expectClean(result);
    }
  });
});
