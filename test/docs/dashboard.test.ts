import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataPointType } from '@opentelemetry/sdk-metrics';
import type { MetricData } from '@opentelemetry/sdk-metrics';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';

import { LockProvider } from '../../src/index.js';
import { instrument } from '../../src/opentelemetry/index.js';
import { MemoryReplicaSet } from '../../src/testing/index.js';
import { Recorder } from '../behaviour/telemetry/recorder.js';
import { untilSettled } from '../behaviour/testing/fleet.js';
import { codeBlocks, page, root } from './pages.js';

interface Dashboard {
  readonly templating: { readonly list: readonly { readonly query: unknown }[] };
  readonly panels: readonly {
    readonly title: string;
    readonly description: string;
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
}

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly annotations: Readonly<Record<string, string>>;
    }[];
  }[];
}

/** A file of tests as promtool reads it, as far as it names alerts. */
interface RulesTest {
  readonly tests: readonly {
    readonly alert_rule_test?: readonly { readonly alertname: string; readonly exp_alerts?: unknown }[];
    readonly promql_expr_test?: readonly { readonly exp_samples: readonly { readonly labels: string }[] }[];
  }[];
}

const alertIn = (labels: string): string => /alertname="(\w+)"/.exec(labels)?.[1] ?? labels;

const DASHBOARD = readFileSync(join(root, 'docs/grafana/leasehold.json'), 'utf8');
const RULES = readFileSync(join(root, 'docs/grafana/leasehold.rules.yaml'), 'utf8');
const RULES_TEST = readFileSync(join(root, 'docs/grafana/leasehold.rules.test.yaml'), 'utf8');

const { panels } = JSON.parse(DASHBOARD) as Dashboard;
const rules = (parse(RULES) as Rules).groups.flatMap((group) => group.rules);

const underscored = (name: string): string => name.replaceAll(/[^a-zA-Z0-9]/g, '_');

/** https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/, as far as these metrics need it. */
function namesInPrometheus(metric: MetricData): readonly string[] {
  const { descriptor, dataPointType } = metric;
  const name = `${underscored(descriptor.name)}${descriptor.unit === 's' ? '_seconds' : ''}`;
  if (dataPointType === DataPointType.HISTOGRAM)
    return ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`);
  return [dataPointType === DataPointType.SUM && metric.isMonotonic ? `${name}_total` : name];
}

let recorded: readonly MetricData[] = [];
let attributes: ReadonlySet<string> = new Set();

/** Records every metric once, with every attribute that it may have. */
beforeAll(async () => {
  const set = new MemoryReplicaSet({ time: 'virtual', seed: 45 });
  const until = <T>(promise: Promise<T>): Promise<T> => untilSettled(set, promise);
  const recorder = new Recorder();
  const [locks, other] = [0, 1].map(() => {
    const made = new LockProvider(set.db('app'), { leaseMs: 10_000 });
    made.on('lost', () => undefined);
    return made;
  }) as [LockProvider, LockProvider];
  instrument(locks, { ...recorder.providers, groupOf: () => 'all' });
  const held = await until(other.acquireMutex('a'));
  const waiting = locks.acquireMutex('a');
  const shelf = await until(locks.createReaderWriterLock('b').acquireRead());
  await expect(until(locks.createMutex('b').acquire())).rejects.toThrow();
  await set.advance(5_000);
  await until(Promise.all([held.release(), shelf.release()]));
  await until(waiting);
  await until(Promise.all([locks, other].map((each) => each.close({ drainMs: 0 }))));
  recorded = await recorder.metrics();
  const keys = recorded.flatMap(({ dataPoints }) =>
    dataPoints.flatMap((point) => Object.keys(point.attributes)),
  );
  attributes = new Set(keys.map(underscored));
  await set.close();
});

/** The words of an expression that could be names of this library. */
const words = (text: string): readonly string[] => text.match(/\b(?:leasehold|error)_[a-z_]+/g) ?? [];

const known = (): readonly string[] => [...recorded.flatMap(namesInPrometheus), ...attributes];

const expressions = [
  ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ...rules.map(({ expr }) => expr),
];

describe('the dashboard and the alert rules', () => {
  test('name only metrics and attributes that the library records', () => {
    expect(recorded).toHaveLength(9);
    const labels = panels.flatMap(({ targets }) =>
      targets.flatMap(({ legendFormat }) => words(legendFormat)),
    );
    const texts = rules.flatMap(({ annotations }) => Object.values(annotations).flatMap(words));
    const used = [
      ...words(DASHBOARD),
      ...words(RULES_TEST),
      ...expressions.flatMap(words),
      ...labels,
      ...texts,
    ];
    expect(used.length).toBeGreaterThan(40);
    expect([...new Set(used)].filter((name) => !known().includes(name))).toEqual([]);
  });

  test('each label stands where a label can stand: the metric has it', () => {
    for (const expr of expressions) {
      for (const [, name = '', selector = ''] of expr.matchAll(/(leasehold_[a-z_]+)\{([^}]*)\}/g)) {
        const metric = recorded.find((each) => namesInPrometheus(each).includes(name));
        const its = new Set(
          metric?.dataPoints.flatMap((point) => Object.keys(point.attributes).map(underscored)),
        );
        expect(
          words(selector).filter((label) => !its.has(label)),
          `${name} in ${expr}`,
        ).toEqual([]);
      }
    }
  });

  test.each(['leasehold.json', 'both'])('%s shows every metric', (which) => {
    const text = which === 'both' ? expressions.join(' ') : DASHBOARD;
    const used = new Set(words(text));
    const missing = recorded.filter((metric) => !namesInPrometheus(metric).some((name) => used.has(name)));
    expect(missing.map(({ descriptor }) => descriptor.name)).toEqual([]);
  });

  test('count the first loss of a process, with which its series begins', () => {
    const ofLosses = expressions.filter((expr) => expr.includes('leasehold_losses_total'));
    expect(ofLosses).toHaveLength(3);
    const bornOrRaised =
      /\((leasehold_losses_total\{[^}]*\}) unless \1 offset (\w+)\) or increase\(\1\[\2\]\)/;
    expect(ofLosses.filter((expr) => !bornOrRaised.test(expr))).toEqual([]);
  });

  test('have a test for promtool in which every alert fires, and no other alert', () => {
    const { tests } = parse(RULES_TEST) as RulesTest;
    const fired = tests.flatMap((each) => [
      ...(each.alert_rule_test ?? [])
        .filter((one) => one.exp_alerts !== undefined)
        .map((one) => one.alertname),
      ...(each.promql_expr_test ?? []).flatMap((one) =>
        one.exp_samples.flatMap(({ labels }) => alertIn(labels)),
      ),
    ]);
    expect([...new Set(fired)].sort()).toEqual(rules.map(({ alert }) => alert).sort());
  });

  test('are described: every panel says what it shows, and the page says of every alert why', () => {
    expect(panels.filter(({ description }) => description === '')).toEqual([]);
    const { text } = page('docs/telemetry.md');
    expect(rules.filter(({ alert }) => !text.includes(`| \`${alert}\``)).map(({ alert }) => alert)).toEqual(
      [],
    );
    const alerts = text.match(/^\| `Leasehold\w+`/gm) ?? [];
    expect(alerts).toHaveLength(rules.length);
  });
});

describe('docs/telemetry.md', () => {
  test('names every metric with its unit, and every attribute', () => {
    const { text } = page('docs/telemetry.md');
    for (const { descriptor } of recorded) {
      expect(text).toMatch(new RegExp(`\\| \`${descriptor.name}\` +\\| [a-z -]+\\| \`${descriptor.unit}\` `));
    }
    const names = new Set(
      recorded.flatMap(({ dataPoints }) => dataPoints.flatMap((p) => Object.keys(p.attributes))),
    );
    expect([...names].filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });

  test('has examples', () => {
    expect(codeBlocks(page('docs/telemetry.md'), 'ts')).toHaveLength(2);
  });
});
