import { mkdtempSync, rmSync } from 'node:fs';
import { copyFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { dataParent } from '../mongo-server/data-folders.js';
import { endWithThisProcess } from '../processes/end-with-this-process.js';
import type { ControlledMember } from './fault-member.js';
import type { MongodProcess } from './mongod-process.js';

/** The folders and processes of a cluster: gone when it is over, also if this process ends before. */
export class Ground {
  readonly folder: string = mkdtempSync(join(dataParent(), 'leasehold-faults-'));
  readonly #parents: readonly (string | undefined)[];
  readonly #folders: string[] = [this.folder];
  readonly #mongods: MongodProcess[] = [];
  readonly #members: ControlledMember[] = [];
  readonly #leave: () => void;

  /** `parents`: where the data of a member goes, by its index, if not to where all else is. */
  constructor(parents: readonly (string | undefined)[]) {
    this.#parents = parents;
    this.#leave = endWithThisProcess(() => {
      for (const mongod of this.#mongods) mongod.killNow();
      for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    });
  }

  dataFolder(index: number): string {
    const parent = this.#parents[index];
    if (parent === undefined) return join(this.folder, `member-${index}`);
    const folder = mkdtempSync(join(parent, 'leasehold-member-'));
    this.#folders.push(folder);
    return folder;
  }

  occupy(mongod: MongodProcess, member: ControlledMember): void {
    this.#mongods.push(mongod);
    this.#members.push(member);
  }

  async saveLogs(to: string): Promise<void> {
    const logs = (await readdir(this.folder)).filter((file) => file.endsWith('.log'));
    await Promise.all(logs.map((log) => copyFile(join(this.folder, log), join(to, log))));
  }

  async clear(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.end()));
    await Promise.all(
      this.#folders.map((folder) => rm(folder, { recursive: true, force: true, maxRetries: 3 })),
    );
    this.#leave();
  }
}
