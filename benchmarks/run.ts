import { relative } from 'node:path';
import pc from 'picocolors';
import type { Members, Result } from './findings.js';
import { Report } from './report.js';
import { resultOf, writeResult } from './result.js';
import type { Scenario, Setup } from './scenario.js';
import { gatesOf, inColumns, shown } from './table.js';
import { Workbench } from './workbench.js';

export interface Choice {
  readonly members: Members;
  /** Which settings apply unless the command line sets them. */
  readonly effort: 'usual' | 'thorough';
  readonly settings?: Readonly<Record<string, number>>;
  readonly only?: string | undefined;
}

/** Runs one scenario on one size of a replica set, and prints its findings. */
async function run(scenario: Scenario, choice: Choice): Promise<Result> {
  const { members, settings: given = {}, only } = choice;
  const startedAt = new Date();
  const settings = { ...settingsOf(scenario, choice), ...given };
  const report = new Report();
  console.log(`\n${pc.bold(scenario.name)}: ${scenario.about}`);
  const setup: Setup = {
    members,
    settings,
    report,
    wants: (part) => only === undefined || only === part,
    open: async () => {
      const bench = await Workbench.open(members);
      report.server = bench.server;
      return bench;
    },
  };
  await scenario.run(setup);
  const isTrial = only !== undefined || Object.keys(given).length > 0;
  const result = resultOf(
    { scenario: scenario.name, members, settings, isTrial },
    startedAt,
    report.findings,
  );
  const file = await writeResult(result);
  print(result);
  console.log(pc.dim(`${(result.tookMs / 1_000).toFixed(0)} s, written to ${relative(process.cwd(), file)}`));
  return result;
}

/** Runs one scenario after the other. A failure is printed, and the others still run. */
export async function runAll(
  all: readonly (readonly [Scenario, Choice])[],
): Promise<{ readonly results: readonly Result[]; readonly failed: number }> {
  const results: Result[] = [];
  for (const [scenario, choice] of all) {
    try {
      results.push(await run(scenario, choice));
    } catch (error) {
      console.error(pc.red(`${scenario.name} failed:`), error);
    }
  }
  return { results, failed: all.length - results.length };
}

function settingsOf({ settings }: Scenario, { effort }: Choice): Readonly<Record<string, number>> {
  const chosen = Object.entries(settings).map(([name, { usual, thorough = usual }]) => [
    name,
    effort === 'usual' ? usual : thorough,
  ]);
  return Object.fromEntries(chosen) as Record<string, number>;
}

function print(result: Result): void {
  for (const table of result.tables) console.log(inColumns(table));
  for (const [name, value] of Object.entries(result.notes)) console.log(pc.dim(`${name}: ${shown(value)}`));
  if (result.gates.length > 0) console.log(inColumns(gatesOf([result])));
}
