import { expect, it } from 'vitest';

import { revocationOf } from '../../../src/protocol/pipeline/revocation.js';

const record = (from: number, to: number, why: string, forced: boolean) => ({
  ...{ from, to, why, forced, by: 'operator' },
  until: new Date(),
});

it('a lease has ended by the first revocation by force that names it', () => {
  const records = [record(7, 7, 'first', true), record(5, 9, 'second', true)];
  expect(revocationOf(records, 7)).toEqual({ by: 'operator', why: 'first' });
  expect(revocationOf(records, 5)).toEqual({ by: 'operator', why: 'second' });
  expect(revocationOf(records, 4)).toBeUndefined();
});

it('a revocation by force counts before earlier ones that only ask', () => {
  const records = [
    record(7, 7, 'asked', false),
    record(6, 8, 'asked again', false),
    record(7, 7, 'forced', true),
  ];
  expect(revocationOf(records, 7)?.why).toBe('forced');
  expect(revocationOf(records, 6)?.why).toBe('asked again');
  expect(revocationOf(records.slice(0, 2), 7)?.why).toBe('asked');
});
