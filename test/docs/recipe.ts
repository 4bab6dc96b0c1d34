import { createRequire } from 'node:module';
import { runInThisContext } from 'node:vm';
import ts from 'typescript';

import { codeBlocks, page } from './pages.js';

const requireHere = createRequire(import.meta.url);

/** The values that a page presupposes, by name. */
export type Given = Readonly<Record<string, unknown>>;

/** The time for which recipes wait, and a time that is enough on a busy machine too. */
const [TIMEOUT, LONG_TIMEOUT] = ['timeoutMs: 10_000', 'timeoutMs: 120_000'];

/** The function of a recipe from its page, which waits for longer here. `modules` replace its imports. */
export function recipe(path: string, name: string, given: Given, modules: Given = {}): unknown {
  const found = codeBlocks(page(path), 'ts').find(({ code }) => code.includes(`async function ${name}(`));
  if (found === undefined) throw new Error(`${path} has no function ${name}`);
  return evaluate(found.code.replaceAll(TIMEOUT, LONG_TIMEOUT), name, given, modules);
}

/** Runs an example that consists of statements. */
export async function runExample(code: string, given: Given): Promise<void> {
  const example = evaluate(`async function example() { ${code} }`, 'example', given, {});
  await (example as () => Promise<void>)();
}

function evaluate(code: string, result: string, given: Given, modules: Given): unknown {
  const { outputText } = ts.transpileModule(code, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS },
  });
  const names = ['require', 'exports', ...Object.keys(given)];
  const make = runInThisContext(`(${names.join(', ')}) => { ${outputText}; return ${result}; }`) as (
    ...values: readonly unknown[]
  ) => unknown;
  const require = (specifier: string): unknown => modules[specifier] ?? requireHere(specifier);
  return make(require, {}, ...Object.values(given));
}
