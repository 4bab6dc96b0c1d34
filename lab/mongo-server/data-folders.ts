import { existsSync, rmSync, statfsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { endWithThisProcess } from '../processes/end-with-this-process.js';

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

/** Where the members of one server keep their data: gone when the server stops, or when this process ends before. */
export class DataFolders {
  readonly folders: readonly string[];
  readonly #leave: () => void;

  constructor(folders: readonly string[]) {
    this.folders = folders;
    this.#leave = endWithThisProcess(() => {
      this.#removeAll();
    });
  }

  static async make(count: number): Promise<DataFolders> {
    const make = (): Promise<string> => mkdtemp(join(dataParent(), 'leasehold-data-'));
    return new DataFolders(await Promise.all(Array.from({ length: count }, make)));
  }

  remove(): void {
    this.#leave();
    this.#removeAll();
  }

  /** Awaits the start of the server, and removes the folders if it fails. */
  async removeUnless(start: Promise<unknown>): Promise<void> {
    try {
      await start;
    } catch (error) {
      this.remove();
      throw error;
    }
  }

  #removeAll(): void {
    for (const folder of this.folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
