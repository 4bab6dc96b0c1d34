// What Grafana and Prometheus read: the expressions parse, and the panels have a place of their own.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parser } from '@prometheus-io/lezer-promql';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

import { root } from './pages.js';

interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: Place;
  readonly targets: readonly { readonly refId: string; readonly expr: string }[];
}

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly expr: string }[] }[];
}

const read = (file: string): string => readFileSync(join(root, 'docs/grafana', file), 'utf8');

const { panels } = JSON.parse(read('leasehold.json')) as { readonly panels: readonly Panel[] };
const rules = (parse(read('leasehold.rules.yaml')) as Rules).groups.flatMap((group) => group.rules);

/** What Grafana puts in for its variables before it asks Prometheus. */
const filledIn = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '1m0s').replaceAll('$job', 'a|b');

const expressions = [
  ...panels.flatMap(({ title, targets }) =>
    targets.map(({ refId, expr }) => [`${title}, ${refId}`, filledIn(expr)] as const),
  ),
  ...rules.map(({ expr }) => [`rule ${expr.slice(0, 60)}`, expr] as const),
];

/** Where the parser of Prometheus's own web interface finds an error. */
function errorsIn(expr: string): readonly number[] {
  const errors: number[] = [];
  parser.parse(expr).iterate({
    enter: ({ type, from }) => {
      if (type.isError) errors.push(from);
    },
  });
  return errors;
}

const overlap = (a: Place, b: Place): boolean =>
  a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

describe('the expressions for Prometheus', () => {
  test.each(expressions)('parse: %s', (_, expr) => {
    expect(expr).not.toContain('$');
    expect(errorsIn(expr)).toEqual([]);
  });

  test('would not parse with a mistake', () => {
    for (const [, expr] of expressions) {
      expect(errorsIn(expr.replace(')', ''))).not.toEqual([]);
      expect(errorsIn(expr.replace('leasehold_', 'leasehold-{'))).not.toEqual([]);
    }
  });
});

describe('the panels for Grafana', () => {
  test('have ids, names and places of their own, in a grid of 24 columns', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    for (const [at, panel] of panels.entries()) {
      const { gridPos, targets } = panel;
      expect([panel.title, gridPos.x + gridPos.w <= 24]).toEqual([panel.title, true]);
      const others = panels.slice(at + 1).filter((other) => overlap(gridPos, other.gridPos));
      expect([panel.title, others.map(({ title }) => title)]).toEqual([panel.title, []]);
      expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
    }
  });
});
