import type { Violation } from '../../faults/verdict.js';
import type { FaultKind } from '../plan/plan.js';
import type { Evidence } from '../world/world.js';

/** Under these, a process can always close its cursors before it ends. */
const HARMLESS: readonly FaultKind[] = [
  'the primary steps down',
  'the clock of the primary is moved',
  'replies are late',
  'change streams break',
];

/** R1: when all processes have closed their providers, no member has a cursor open. */
export function* checkCursors({ plan, openCursors }: Evidence): Iterable<Violation> {
  if (openCursors === 0 || plan.faults.some(({ kind }) => !HARMLESS.includes(kind))) return;
  const what = `the members have ${openCursors} cursors open, and all processes have ended`;
  yield { invariant: 'R1', checker: 'cursors', what };
}
