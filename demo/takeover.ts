import pc from 'picocolors';
import { monotonicMs, sleep } from '../benchmarks/worker-process.js';
import type { LockProvider } from '../src/index.js';
import { paint } from './crew.js';
import type { Crew } from './crew.js';
import type { HoldRecord } from './history.js';
import { Observer } from './observer.js';
import type { Screen } from './screen.js';

/** What became of the lock of a killed holder. */
export interface Takeover {
  /** From the kill to the grant, on the clock that the processes share. */
  readonly tookMs: number;
  /** From the end of the dead holder's lease to the grant, by the server's clock; `undefined` if nobody saw both. */
  readonly afterLeaseMs: number | undefined;
}

const VICTIM = 'C';
const LOOK_EVERY_MS = 100;

/** A holder is killed while it holds; the next one has the lock when the lease is over, and not before. */
export async function showTakeover(
  crew: Crew,
  screen: Screen,
  locks: LockProvider,
  leaseMs: number,
): Promise<Takeover> {
  const observer = new Observer(locks);
  screen.heading(
    '3  A holder is killed',
    `   A lease lives ${(leaseMs / 1000).toFixed(1)} s, and its holder extends it while it lives. The dead extend nothing:`,
    '   the first in the queue has the lock when the lease is over, and never before.',
  );
  const held = await crew.keep(VICTIM);
  // Long enough for a look from outside to find the next holder.
  crew.pace(1_000, 20);
  screen.event(`${paint(VICTIM)} holds  token ${held.token}  ${pc.dim('and keeps it')}`);
  await showExtensions(crew, screen, 1.2 * leaseMs);
  const killedMs = await crew.kill(VICTIM);
  await observer.look();
  const signal = `by SIGKILL to pid ${crew.pidOf(VICTIM)}`;
  const left = `its lease has ${(observer.leftMs(held.token) / 1000).toFixed(1)} s left`;
  screen.event(`${paint(VICTIM)} ${pc.bold(pc.red('killed'))}  ${signal}, releasing nothing: ${left}`);
  return await showSuccession(crew, screen, observer, held, killedMs, leaseMs);
}

/** The monitor at work: a hold outlives its lease, extension by extension. */
async function showExtensions(crew: Crew, screen: Screen, forMs: number): Promise<void> {
  const stopListening = crew.listen(VICTIM, (report) => {
    if (report.type === 'extended') {
      screen.event(
        `${paint(VICTIM)} extends  ${pc.dim(`its hold is good for another ${(report.remainingMs / 1000).toFixed(1)} s`)}`,
      );
    }
  });
  await Promise.race([crew.failure, sleep(forMs)]);
  stopListening();
}

async function showSuccession(
  crew: Crew,
  screen: Screen,
  observer: Observer,
  held: HoldRecord,
  killedMs: number,
  leaseMs: number,
): Promise<Takeover> {
  const patienceMs = 2 * leaseMs + 5_000;
  const findNext = (): HoldRecord | undefined =>
    crew.history.holds.find(({ grantedMs }) => grantedMs > killedMs);
  const isOver = (): boolean => {
    const hasAcquired = findNext();
    return hasAcquired !== undefined && observer.gapMs(held.token, hasAcquired.token) !== undefined;
  };
  const watching = observer.watch(() => isOver() || monotonicMs() > killedMs + patienceMs, LOOK_EVERY_MS);
  const next = await crew.until(() => {
    screen.live(
      pc.dim(
        `nobody holds  the lease of ${VICTIM} ends in ${(observer.leftMs(held.token) / 1000).toFixed(1)} s`,
      ),
    );
    return findNext();
  }, patienceMs);
  await Promise.race([crew.failure, watching]);
  const tookMs = next.grantedMs - killedMs;
  const afterLeaseMs = observer.gapMs(held.token, next.token);
  const took = pc.bold(`${(tookMs / 1000).toFixed(2)} s`);
  const after = `${afterLeaseMs ?? '?'} ms after the lease's end`;
  screen.event(`${paint(next.worker)} holds  token ${next.token}  ${took} after the kill, ${after}`);
  return { tookMs, afterLeaseMs };
}
