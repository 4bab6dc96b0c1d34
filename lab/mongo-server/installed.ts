import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

import { type Finding, inspectMongod, NoServerError } from './mongod-binary.js';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The mongod named by MONGOMS_SYSTEM_BINARY, else the first one on the PATH that runs.
 * A named binary that does not run is an error and not a reason to look further: whoever named it would
 * otherwise test against another server than they believe.
 */
export async function findInstalled(environment: Environment = process.env): Promise<Finding> {
  const named = environment['MONGOMS_SYSTEM_BINARY'] ?? '';
  if (named !== '') {
    const finding = await inspectMongod(named, 'MONGOMS_SYSTEM_BINARY');
    if ('missing' in finding) {
      throw new NoServerError(`MONGOMS_SYSTEM_BINARY: ${finding.missing}. Correct it, or unset it.`);
    }
    return finding;
  }
  let missing = 'MONGOMS_SYSTEM_BINARY is not set, no mongod on the PATH';
  for (const folder of (environment['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, process.platform === 'win32' ? 'mongod.exe' : 'mongod');
    if (!(await isExecutable(path))) continue;
    const finding = await inspectMongod(path, 'on the PATH');
    if (!('missing' in finding)) return finding;
    missing = finding.missing;
  }
  return { missing };
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
