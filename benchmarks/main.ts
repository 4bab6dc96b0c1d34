// Runs the usual scenarios, one scenario, or all of them on every size; compares results; writes the page of figures.
import { relative } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { comparisonOf } from './compare.js';
import type { Members } from './findings.js';
import { writePages } from './page.js';
import { resultsIn } from './result.js';
import { runAll } from './run.js';
import type { Choice } from './run.js';
import type { Scenario, Setting } from './scenario.js';
import { allScenarios, usualScenarios } from './scenarios/all.js';
import { gatesOf, inColumns } from './table.js';

const program = new Command('npm run bench --').description('what locks cost, each figure beside its floor');

program
  .command('all', { isDefault: true })
  .description('the usual scenarios with their usual settings, within ten minutes (default)')
  .action(async () => {
    await judge(
      usualScenarios.map((scenario) => [scenario, { members: scenario.sizes[0], effort: 'usual' }]),
    );
  });

for (const scenario of allScenarios) {
  const command = program.command(scenario.name).description(scenario.about);
  command.addOption(
    new Option('--members <n>', 'members of the replica set')
      .choices(['1', '3'])
      .default(String(scenario.sizes[0])),
  );
  command.option('--thorough', 'as long as the gates need');
  for (const entry of Object.entries(scenario.settings)) command.addOption(optionFor(...entry));
  if (scenario.parts !== undefined) {
    command.addOption(new Option('--only <part>', 'run one part alone').choices(scenario.parts));
  }
  command.action(async ({ members, thorough, only, ...others }: ScenarioOptions) => {
    const settings = others as Readonly<Record<string, number>>;
    const effort = thorough === true ? 'thorough' : 'usual';
    await judge([[scenario, { members: members === '1' ? 1 : 3, effort, settings, only }]]);
  });
}

program
  .command('gates')
  .description(
    'all scenarios on one member and on three, thoroughly, and a table of all gates; takes half an hour',
  )
  .action(async () => {
    await judge(
      allScenarios.flatMap((scenario) =>
        sizesOf(scenario).map((members): [Scenario, Choice] => [scenario, { members, effort: 'thorough' }]),
      ),
    );
  });

program
  .command('compare <A> <B>')
  .description('compare two result files, or two folders of them, such as the results/ of two builds')
  .action(async (a: string, b: string) => {
    const tables = comparisonOf(await resultsIn(a), await resultsIn(b));
    for (const table of tables) console.log(`\n${inColumns(table)}`);
    if (tables.length === 0) throw new Error(`${a} and ${b} have no scenario and size in common`);
  });

program
  .command('report')
  .description('write the newest figures of whole runs into docs/performance.md and benchmarks/gates.md')
  .action(async () => {
    const files = await writePages(allScenarios.map(({ name }) => name));
    for (const file of files) console.log(`written: ${relative(process.cwd(), file)}`);
  });

await program.parseAsync();

/** The options of a scenario, as commander parses them; all others are its settings. */
interface ScenarioOptions extends Readonly<Record<string, unknown>> {
  readonly members: '1' | '3';
  readonly thorough?: boolean;
  readonly only?: string;
}

/** The exit code tells only whether everything ran: a missed gate is no failure. */
async function judge(all: readonly (readonly [Scenario, Choice])[]): Promise<void> {
  const { results, failed } = await runAll(all);
  if (all.length > 1) console.log(`\n${inColumns(gatesOf(results))}`);
  if (failed > 0) process.exitCode = 1;
}

/** A server that already runs has a fixed number of members. */
function sizesOf({ sizes }: Scenario): readonly Members[] {
  return process.env['MONGODB_URI'] ? [sizes[0]] : sizes;
}

function optionFor(name: string, { meaning, usual, thorough }: Setting): Option {
  const dashed = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const also = thorough === undefined ? '' : `; ${thorough} when thorough`;
  return new Option(`--${dashed} <n>`, `${meaning} (default: ${usual}${also})`).argParser(wholeNumber);
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number.');
  return value;
}
