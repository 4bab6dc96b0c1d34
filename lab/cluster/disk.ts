import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of its own in memory, which is soon full. */
export interface SmallDisk extends AsyncDisposable {
  /** Where it is mounted. */
  readonly folder: string;
  /** Takes all that is left. */
  fill(): Promise<void>;
  /** Gives back what `fill` took. */
  free(): Promise<void>;
}

/** Undefined where mounting is not permitted. */
export async function smallDisk(sizeMb: number): Promise<SmallDisk | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-disk-'));
  const keeper = keeperOf(folder, sizeMb);
  const ended = once(keeper, 'exit');
  const mounted = once(keeper.stdout, 'data').then(() => true);
  if (await Promise.race([mounted, ended.then(() => false)])) return new MountedDisk(folder, keeper, ended);
  await rm(folder, { recursive: true, force: true });
  return undefined;
}

/**
 * Mounts, and unmounts when its input ends, which it does with this process, however that ends. Files that are
 * still open there stay usable: the folder is free at once, the memory when they are closed.
 */
const KEEPER = `
  mount -t tmpfs -o "size=$1m" leasehold "$0" 2>/dev/null || exit 1
  echo mounted
  read -r _
  umount -l "$0" && rmdir "$0"
`;

interface Keeper extends ChildProcess {
  readonly stdin: NonNullable<ChildProcess['stdin']>;
  readonly stdout: NonNullable<ChildProcess['stdout']>;
}

function keeperOf(folder: string, sizeMb: number): Keeper {
  const keeper = spawn('/bin/sh', ['-c', KEEPER, folder, String(sizeMb)], {
    stdio: ['pipe', 'pipe', 'ignore'],
    // Not ended by a signal that is meant for the terminal's foreground.
    detached: true,
  });
  return keeper;
}

const CHUNK_BYTES = 1 << 20;

class MountedDisk implements SmallDisk {
  readonly folder: string;
  readonly #keeper: Keeper;
  readonly #ended: Promise<unknown>;

  constructor(folder: string, keeper: Keeper, ended: Promise<unknown>) {
    this.folder = folder;
    this.#keeper = keeper;
    this.#ended = ended;
  }

  async fill(): Promise<void> {
    const file = await open(this.#filling, 'a');
    try {
      // The last one is written in part, as far as there is room.
      for (;;) await file.write(Buffer.alloc(CHUNK_BYTES));
    } catch (error) {
      if (!isFull(error)) throw error;
    } finally {
      await file.close();
    }
  }

  async free(): Promise<void> {
    await rm(this.#filling, { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#keeper.stdin.end();
    await this.#ended;
  }

  get #filling(): string {
    return join(this.folder, 'filling');
  }
}

const isFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOSPC';
