import { afterEach, describe, expect, inject, it, vi } from 'vitest';

import { connectOrStart } from '../../lab/mongo-server/connect-or-start.js';

describe('connectOrStart', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it('uses the server of MONGODB_URI, says so in one line, and does not stop it', async () => {
    const uri = inject('mongoUri');
    vi.stubEnv('MONGODB_URI', uri);
    const lines: string[] = [];
    const say = (line: string) => lines.push(line);
    for (let turn = 0; turn < 2; turn += 1) {
      const server = await connectOrStart({ say });
      expect(server).toMatchObject({ uri, members: [] });
      await server.stop();
    }
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^leasehold: MONGODB_URI, mongod \d+\.\d+\.\d+, replica set of \d on \S+$/);
  });

  it('fails if no server answers at MONGODB_URI, without naming its password', async () => {
    vi.stubEnv('MONGODB_URI', 'mongodb://somebody:secret@127.0.0.1:1/');
    const failure = await connectOrStart().catch((error: unknown) => error);
    expect(String(failure)).toMatch(/MONGODB_URI: .*unset it/);
    expect(String(failure)).not.toContain('secret');
  });

  it('starts a server of its own without MONGODB_URI', async () => {
    vi.stubEnv('MONGODB_URI', '');
    const lines: string[] = [];
    await using server = await connectOrStart({ say: (line) => lines.push(line) });
    expect(server.members).toHaveLength(1);
    expect(lines).toEqual([`leasehold: ${server.description}`]);
  });
});
