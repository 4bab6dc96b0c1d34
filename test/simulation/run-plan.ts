import { createHash } from 'node:crypto';

import { judgeRun } from './judges/judge-run.js';
import type { Judgement } from './judges/judge-run.js';
import type { Plan } from './plan/plan.js';
import type { BuildOf } from './world/simulated-worker.js';
import { World } from './world/world.js';
import type { Evidence } from './world/world.js';

export interface RunResult extends Judgement {
  readonly evidence: Evidence;
}

/** Runs a plan and judges it. */
export async function runPlan(plan: Plan, buildOf?: BuildOf): Promise<RunResult> {
  const evidence = await new World(plan, buildOf).run();
  return { ...judgeRun(evidence), evidence };
}

/** Everything that happened, with its times. Two runs of one plan have the same text. */
export function* traceOf({ history, versions, jobs, doubled, tookMs }: Evidence): Iterable<string> {
  for (const line of history.run) yield JSON.stringify(line);
  for (const [worker, lines] of history.workers.entries()) {
    for (const line of lines) yield `${String(worker)} ${JSON.stringify(line)}`;
  }
  for (const ofSet of versions) for (const version of ofSet) yield JSON.stringify(version);
  for (const told of [jobs.runs, jobs.calls, jobs.terms, jobs.missed, doubled])
    for (const each of told) yield JSON.stringify(each);
  yield String(tookMs);
}

export function hashOf(evidence: Evidence): string {
  const hash = createHash('sha256');
  for (const line of traceOf(evidence)) hash.update(`${line}\n`);
  return hash.digest('hex');
}
