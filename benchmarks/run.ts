import { createRequire } from 'node:module';
import { availableParallelism, loadavg } from 'node:os';
import { relative } from 'node:path';
import pc from 'picocolors';
import type { Members, Result } from './findings.js';
import { Report } from './report.js';
import { writeResult } from './result.js';
import type { Scenario } from './scenario.js';
import { gatesOf, inColumns, shown } from './table.js';
import { Workbench } from './workbench.js';

export interface Choice {
  readonly members: Members;
  /** Which settings apply unless the command line sets them. */
  readonly effort: 'usual' | 'thorough';
  readonly settings?: Readonly<Record<string, number>>;
  readonly only?: string | undefined;
}

/** Runs one scenario after the other. A failure is printed, and the others still run. */
export async function runAll(
  all: readonly (readonly [Scenario, Choice])[],
): Promise<{ readonly results: readonly Result[]; readonly failed: number }> {
  const results: Result[] = [];
  for (const [scenario, choice] of all) {
    console.log(`\n${pc.bold(scenario.name)}: ${scenario.about}`);
    try {
      const result = await run(scenario, choice);
      results.push(result);
      print(result);
      const file = relative(process.cwd(), await writeResult(result));
      console.log(pc.dim(`${(result.tookMs / 1_000).toFixed(0)} s, written to ${file}`));
    } catch (error) {
      console.error(pc.red(`${scenario.name} failed:`), error);
    }
  }
  return { results, failed: all.length - results.length };
}

/** Runs one scenario on one size of a replica set. */
async function run(
  scenario: Scenario,
  { members, effort, settings: given = {}, only }: Choice,
): Promise<Result> {
  const startedAt = new Date();
  const chosen = Object.entries(scenario.settings).map(
    ([name, { usual, thorough = usual }]) => [name, effort === 'usual' ? usual : thorough] as const,
  );
  const settings = { ...Object.fromEntries(chosen), ...given };
  const report = new Report();
  await using bench = await Workbench.open(members);
  const wants = (part: string): boolean => only === undefined || only === part;
  await scenario.run({ members, settings, report, wants, bench });
  const driver = createRequire(import.meta.url)('mongodb/package.json') as { readonly version: string };
  return {
    ...{ scenario: scenario.name, members, server: bench.server, settings },
    isTrial: only !== undefined || Object.keys(given).length > 0,
    at: startedAt.toISOString(),
    tookMs: Date.now() - startedAt.getTime(),
    node: process.version,
    driver: driver.version,
    processors: availableParallelism(),
    loadOfLastMinute: loadavg()[0] ?? NaN,
    ...report.findings,
  };
}

function print(result: Result): void {
  for (const table of result.tables) console.log(inColumns(table));
  for (const [name, value] of Object.entries(result.notes)) console.log(pc.dim(`${name}: ${shown(value)}`));
  if (result.gates.length > 0) console.log(inColumns(gatesOf([result])));
}
