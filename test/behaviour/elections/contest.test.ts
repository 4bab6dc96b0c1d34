import { describe, expect, it } from 'vitest';
import { randomFrom } from '../../../lab/random.js';
import { byBreadth } from '../../support/breadth.js';
import { eventually, nowMs, pause } from '../../../lab/patience.js';
import { drawSeed } from '../../support/seed.js';
import type { TestProvider } from '../../support/test-provider.js';
import { ownDatabase } from '../../support/test-provider.js';

const DURATION_MS = byBreadth(4_000, 10_000);

/** Each candidate starts, stops, resigns and hands over at random. */
describe('eight candidates of three providers that start, stop, resign and hand over at random', () => {
  it('never lead at the same time, and their tokens rise; in the end exactly one leads', async () => {
    const database = ownDatabase();
    const random = randomFrom(drawSeed('eight candidates'));
    const providers: TestProvider[] = [];
    for (let index = 0; index < 3; index += 1) {
      providers.push(
        await database.connected({ leaseMs: 30_000, extendEveryMs: 300, storeTimeoutMs: 30_000 }),
      );
    }
    const leading = new Set<string>();
    const tokens: number[] = [];
    const faults: string[] = [];
    const candidates = Array.from({ length: 8 }, (_, index) => {
      const candidateId = `candidate ${String(index)}`;
      const election = providers[index % 3]?.locks.createLeaderElection('e', {
        candidateId,
        onElected: async (term) => {
          if (leading.size > 0) faults.push(`${candidateId} beside ${[...leading].join(', ')}`);
          leading.add(candidateId);
          tokens.push(term.fencingToken);
          await pause(random.between(0, 20));
        },
        onDeposed: () => {
          if (!leading.delete(candidateId)) faults.push(`${candidateId} was not elected`);
        },
      });
      if (election === undefined) throw new Error('there are three');
      election.on('error', (error) => faults.push(String(error)));
      return election;
    });
    const endMs = nowMs() + DURATION_MS;
    await Promise.all(
      candidates.map(async (election) => {
        const own = randomFrom(random.between(0, 1e9));
        while (nowMs() < endMs) {
          await election.start();
          await pause(own.between(0, 150));
          const chance = own.between(0, 99);
          if (chance < 30) await election.resign();
          else if (chance < 60) {
            await election.handOverTo(`candidate ${String(own.between(0, 7))}`);
          } else {
            await election.stop();
            await pause(own.between(0, 50));
          }
        }
        await election.start();
      }),
    );
    await eventually('one leader', () => candidates.filter(({ isLeader }) => isLeader).length === 1);
    expect(faults).toEqual([]);
    expect(tokens.length).toBeGreaterThan(20);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  }, 60_000);
});
