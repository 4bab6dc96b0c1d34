import { expect, test } from 'vitest';

import { processorMsBetween, threadTimesOf } from '../processor-time.js';

test('the time of each thread counts since the first look, and that of a new thread from its start', () => {
  const before = new Map([
    ['old', 5],
    ['ended', 7],
  ]);
  const after = new Map([
    ['old', 8],
    ['new', 4],
  ]);
  expect(processorMsBetween(before, after)).toBe(7);
});

test('a time that cannot be known is not a number', () => {
  expect(processorMsBetween(new Map(), threadTimesOf([]))).toBeNaN();
});

test.runIf(process.platform === 'linux')('a process that works uses processor time', () => {
  const before = threadTimesOf([process.pid]);
  const { user } = process.cpuUsage();
  while (process.cpuUsage().user - user < 20_000);
  expect(processorMsBetween(before, threadTimesOf([process.pid]))).toBeGreaterThan(0);
});
