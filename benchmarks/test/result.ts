import type { Result } from '../findings.js';

/** A result without figures, changed by what a test gives. */
export const resultWith = (overrides: Partial<Result>): Result => ({
  scenario: 'queue',
  members: 3,
  at: '2026-03-14T09:26:53.589Z',
  tookMs: 1_000,
  settings: {},
  isTrial: false,
  node: 'v20.0.0',
  driver: '7.0.0',
  processors: 2,
  loadOfLastMinute: 0.5,
  server: 'mongod 6.0.5 (somewhere), replica set of 3 on 127.0.0.1:1',
  tables: [],
  plots: [],
  charts: [],
  notes: {},
  gates: [],
  ...overrides,
});
