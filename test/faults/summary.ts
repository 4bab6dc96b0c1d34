import Table from 'cli-table3';

import { percentile } from '../../lab/statistics.js';
import type { FirstGrant } from '../judge/first-grants.js';
import type { RoundResult } from './round.js';

interface Result extends Omit<RoundResult, 'history' | 'grants'> {
  readonly history: undefined;
  readonly grants: number;
}

/** A group of fewer operations shows little. */
const LARGE_GROUP = 4;

/** The figures of several rounds together. */
export class Summary {
  readonly #results: Result[] = [];

  /** Takes the figures of a round, without its journals, which would be too large after hours. */
  take(result: RoundResult): void {
    this.#results.push({ ...result, history: undefined, grants: result.grants.length });
  }

  get violations(): number {
    return this.#sum(({ violations }) => violations.length);
  }

  /** The summary for people, as Markdown that the docs can keep. */
  lines(): readonly string[] {
    const counts: readonly (readonly [string, number])[] = [
      ['rounds', this.#results.length],
      [
        'strict rounds that were not judged strictly, because the machine was too busy',
        this.#sum(({ isDisturbed }) => Number(isDisturbed)),
      ],
      ['ms in which the store was slow in strict rounds', Math.round(this.#sum(({ slowMs }) => slowMs))],
      ['requests', this.#sum(({ requests }) => requests)],
      ['grants and changes of mode', this.#sum(({ grants }) => grants)],
      ['groups of operations on different locks', this.#sum(({ groups }) => groups.length)],
      ['of them with four or more', this.#sum(({ groups }) => largeOf(groups).length)],
      [
        'operations in these',
        this.#sum(({ groups }) => largeOf(groups).reduce((sum, size) => sum + size, 0)),
      ],
      ['versions of lock documents', this.#sum(({ versions }) => versions)],
      ['faults', this.#sum(({ faults }) => [...faults.values()].reduce((sum, count) => sum + count, 0))],
      ['worker processes killed', this.#sum(({ killed }) => killed)],
      ['adds to fenced sets, acknowledged', this.#sum(({ sets }) => sets.fenced.acknowledged)],
      ['of them lost', this.#sum(({ sets }) => sets.fenced.lost)],
      ['adds in fenced transactions, acknowledged', this.#sum(({ sets }) => sets.transaction.acknowledged)],
      ['of them lost', this.#sum(({ sets }) => sets.transaction.lost)],
      ['adds to unfenced sets, acknowledged', this.#sum(({ sets }) => sets.memory.acknowledged)],
      [
        'of them lost, all where a process had stood still or was late',
        this.#sum(({ sets }) => sets.memory.lost),
      ],
      ['**violations**', this.violations],
    ];
    return [
      ...markdown(
        ['what', 'how often'],
        counts.map(([what, count]) => [what, count.toLocaleString('en')]),
      ),
      '',
      ...markdown(['fault', 'how often'], this.#faultRows()),
      '',
      ...markdown(['made of', 'how many'], this.#effectRows()),
      '',
      ...markdown(
        [
          'after fault',
          'times',
          'to the first grant p50',
          'p99',
          'max',
          'of it since the election p50',
          'p99',
          'max',
        ],
        this.#failoverRows(),
      ),
    ];
  }

  #faultRows(): string[][] {
    const counts = new Map<number, number>();
    for (const { faults } of this.#results) {
      for (const [fault, count] of faults) counts.set(fault, (counts.get(fault) ?? 0) + count);
    }
    return [...counts].sort(([a], [b]) => a - b).map(([fault, count]) => [String(fault), String(count)]);
  }

  #effectRows(): string[][] {
    const totals = new Map<string, number>();
    for (const { effects } of this.#results) {
      for (const [what, count] of effects) totals.set(what, (totals.get(what) ?? 0) + count);
    }
    return [...totals]
      .sort(([a], [b]) => parseInt(a) - parseInt(b))
      .map(([what, count]) => [what, count.toLocaleString('en')]);
  }

  /** The times from the end of a primary, and from the election of the next one, to the first grant. */
  #failoverRows(): string[][] {
    const byFault = new Map<number, FirstGrant[]>();
    for (const first of this.#results.flatMap(({ failovers }) => failovers)) {
      byFault.set(first.fault, [...(byFault.get(first.fault) ?? []), first]);
    }
    return [...byFault]
      .sort(([a], [b]) => a - b)
      .map(([fault, all]) => {
        const totals = all.flatMap(({ ms }) => (ms === null ? [] : [ms]));
        const sinceElections = all.flatMap(({ sinceElectionMs: ms }) => (ms === null ? [] : [ms]));
        return [String(fault), String(totals.length), ...spread(totals), ...spread(sinceElections)];
      });
  }

  #sum(of: (result: Result) => number): number {
    return this.#results.reduce((sum, result) => sum + of(result), 0);
  }
}

const largeOf = (groups: readonly number[]): readonly number[] =>
  groups.filter((operations) => operations >= LARGE_GROUP);

const spread = (times: readonly number[]): readonly string[] =>
  times.length === 0
    ? ['', '', '']
    : [0.5, 0.99, 1].map((share) => `${(percentile(times, share) / 1_000).toFixed(2)} s`);

/** A table in Markdown. */
export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const empty = { top: '', 'top-mid': '', 'top-left': '', 'top-right': '', bottom: '', 'bottom-mid': '' };
  const table = new Table({
    head: [...head],
    chars: {
      ...empty,
      ...{ 'bottom-left': '', 'bottom-right': '', left: '|', 'left-mid': '', mid: '', 'mid-mid': '' },
      ...{ right: '|', 'right-mid': '', middle: '|' },
    },
    style: { head: [], border: [] },
  });
  for (const row of rows) table.push([...row]);
  const [first = '', ...others] = table.toString().split('\n');
  // As Prettier writes it: a cell has a space at each side.
  const rule = first.replaceAll(/[^|]/g, '-').replaceAll(/(?<=\|)-|-(?=\|)/g, ' ');
  return [first, rule, ...others];
}
