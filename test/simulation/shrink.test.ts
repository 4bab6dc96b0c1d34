import { expect, it } from 'vitest';

import { drawPlan } from './plan/draw-plan.js';
import { smallerThan } from './shrink.js';

const plan = drawPlan(3, {
  work: ['actors', 'jobs'],
  faults: ['a process stands still', 'a process crashes', 'replies are lost'],
});

it('a smaller plan lacks something, and its faults befall the processes that it has', () => {
  const size = (text: object): number => JSON.stringify(text).length;
  const smaller = [...smallerThan(plan)];
  expect(smaller.length).toBeGreaterThan(plan.faults.length + plan.processes.length);
  for (const each of smaller) {
    expect(each).not.toEqual(plan);
    expect(size(each)).toBeLessThanOrEqual(size(plan));
    for (const { kind, victim } of each.faults) {
      if (kind.startsWith('a process')) expect(victim).toBeLessThan(each.processes.length);
    }
  }
});

it('among the smaller plans there is one without any fault, and one without each process', () => {
  const smaller = [...smallerThan({ ...plan, faults: plan.faults.slice(0, 1) })];
  expect(smaller.some(({ faults }) => faults.length === 0)).toBe(true);
  for (const process of plan.processes) {
    expect(smaller.some(({ processes }) => !processes.includes(process))).toBe(true);
  }
});
