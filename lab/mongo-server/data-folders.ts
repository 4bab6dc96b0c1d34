import { existsSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Names the folder in which the servers of this process, and of its child processes, keep their data. */
export const DATA_PARENT_VARIABLE = 'LEASEHOLD_DATA_PARENT';

const MEMORY_FOLDER = '/dev/shm';

/** About twice what the servers of a whole run of the tests have there at once. */
const LEAST_FREE_BYTES = 6 * 2 ** 30;

export function dataParent(): string {
  return process.env[DATA_PARENT_VARIABLE] ?? tmpdir();
}

/** A folder whose files are in memory, if the machine has one with enough room. There, no write waits for a disk. */
export function folderInMemory(): string | undefined {
  if (!existsSync(MEMORY_FOLDER)) return undefined;
  const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
  return bavail * bsize >= LEAST_FREE_BYTES ? MEMORY_FOLDER : undefined;
}
