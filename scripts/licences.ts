import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Metafile {
  readonly inputs: Readonly<Record<string, unknown>>;
}

/** The folders of the packages that these files come from. */
const packagesOf = (files: readonly string[]): readonly string[] =>
  [
    ...new Set(files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? [])),
  ].toSorted();

/** Name, version, and the texts that the licence asks to be kept beside the code. */
function licenceOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly license: string;
  };
  const files = readdirSync(folder).filter((each) => /^(licen[cs]e|notice)/i.test(each));
  if (files.length === 0) throw new Error(`${name} ${version} has no licence in ${folder}`);
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return `${[`${name} ${version}, ${license}`, ...texts].join('\n\n')}\n`;
}

/** Writes the licences of all packages that the build has put into its result, and removes the build's list of files. */
export function writeLicences(outDir: string): void {
  const metafile = join(outDir, 'metafile-esm.json');
  const { inputs } = JSON.parse(readFileSync(metafile, 'utf8')) as Metafile;
  const texts = packagesOf(Object.keys(inputs)).map((each) => licenceOf(each));
  writeFileSync(join(outDir, 'LICENCES.txt'), texts.join(`\n${'-'.repeat(80)}\n\n`));
  rmSync(metafile);
}
