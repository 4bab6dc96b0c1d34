/**
 * How much of each suite is run. `npm test` is the quick run, with fewer histories, schedules and seconds. The long
 * run, `npm run test:long`, has what that leaves out, and more of what it shortens; together they run every test.
 * docs/guarantees.md lists the difference.
 */
export type Breadth = 'quick' | 'long';

export const BREADTH_VARIABLE = 'LEASEHOLD_BREADTH';

export function breadthOf(text: string | undefined): Breadth {
  if (text === undefined || text === '' || text === 'quick') return 'quick';
  if (text === 'long') return 'long';
  throw new Error(`${BREADTH_VARIABLE} must be quick or long, got ${text}`);
}

export const breadth = breadthOf(process.env[BREADTH_VARIABLE]);

export const isLong = breadth === 'long';

/** The first in the quick run, the second in the long one. */
export const byBreadth = <T>(quick: T, long: T): T => (isLong ? long : quick);
