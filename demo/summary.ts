import pc from 'picocolors';
import { percentile } from '../benchmarks/statistics.js';
import { paint } from './crew.js';
import type { HandOver, HoldRecord, History } from './history.js';
import type { Screen } from './screen.js';
import type { Takeover } from './takeover.js';
import { judge } from './verdicts.js';

/** What the scenes gave, beside the history. */
export interface Scenes {
  readonly fullSpeed: readonly HandOver[];
  readonly takeover: Takeover;
  /** The workers that did not end as they should have. */
  readonly wronglyEnded: readonly string[];
  readonly leaseMs: number;
  /** How the workers learned of their grants. */
  readonly wakeups: string;
}

/** Prints the figures and judges them; true if everything was right. */
export function summarise(screen: Screen, history: History, scenes: Scenes): boolean {
  const { fullSpeed, takeover, leaseMs, wronglyEnded } = scenes;
  const { holds, handOvers } = history;
  const row = (name: string, value: string): void => {
    screen.line(`   ${name.padEnd(12)}${value}`);
  };
  screen.heading('Summary');
  row('grants', `${pc.bold(String(holds.length))}  (${sharesOf(holds)})`);
  row(
    'hand-over',
    `${spread(handOvers.map(({ tookMs }) => tookMs))}  ${pc.dim(`of ${handOvers.length}, woken by ${scenes.wakeups}`)}`,
  );
  row('wait', `${spread(fullSpeed.map(({ to }) => to.grantedMs - to.askedMs))}  ${pc.dim('at full speed')}`);
  row(
    'takeover',
    `${pc.bold(inSeconds(takeover.tookMs))} after the kill  ${pc.dim(`the lease is ${inSeconds(leaseMs)}`)}`,
  );
  screen.line();
  const verdicts = judge(history, takeover, wronglyEnded);
  for (const { claim, evidence, isTrue } of verdicts) {
    const mark = isTrue ? pc.green('✓') : pc.bold(pc.red('✗'));
    screen.line(`   ${mark} ${claim}: ${isTrue ? pc.dim(evidence) : evidence}`);
  }
  return verdicts.every(({ isTrue }) => isTrue);
}

function sharesOf(holds: readonly HoldRecord[]): string {
  const names = [...new Set(holds.map(({ worker }) => worker))].sort();
  return names
    .map((name) => `${paint(name)} ${holds.filter(({ worker }) => worker === name).length}`)
    .join(', ');
}

const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;

/** `p50 2.1 ms, p99 4.0 ms` */
function spread(valuesMs: readonly number[]): string {
  if (valuesMs.length === 0) return 'none';
  const [p50, p99] = [percentile(valuesMs, 0.5), percentile(valuesMs, 0.99)];
  return `p50 ${pc.bold(`${p50.toFixed(1)} ms`)}, p99 ${p99.toFixed(1)} ms`;
}
