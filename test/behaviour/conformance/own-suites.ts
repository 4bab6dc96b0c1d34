import { describe } from 'vitest';

import type { OwnSubject } from './two-providers.js';
import { givingUp } from './all-or-nothing-suites/giving-up.js';
import { holding } from './all-or-nothing-suites/holding.js';
import { refusing as refusingRequests } from './all-or-nothing-suites/refusing.js';
import { taking } from './all-or-nothing-suites/taking.js';
import { downgrading } from './reader-writer-suites/downgrading.js';
import { outliving } from './reader-writer-suites/outliving.js';
import { refusing } from './reader-writer-suites/refusing.js';
import { sharing } from './reader-writer-suites/sharing.js';
import { upgrading } from './reader-writer-suites/upgrading.js';
import { using } from './reader-writer-suites/using.js';
import { takingTurns } from './reader-writer-suites/taking-turns.js';
import { contending } from './semaphore-suites/contending.js';
import { counting } from './semaphore-suites/counting.js';
import { differing } from './semaphore-suites/differing.js';
import { outliving as outlivingPermits } from './semaphore-suites/outliving.js';
import { resizing } from './semaphore-suites/resizing.js';
import { using as usingPermits } from './semaphore-suites/using.js';

type Suite = (subject: OwnSubject) => void;

/** What each primitive does beyond a mutex, by the name of the folder with its suites. */
export const OWN_SUITES = {
  'reader-writer': {
    sharing,
    'taking-turns': takingTurns,
    upgrading,
    downgrading,
    refusing,
    using,
    outliving,
  },
  semaphore: { counting, contending, differing, resizing, using: usingPermits, outliving: outlivingPermits },
  'all-or-nothing': { taking, 'giving-up': givingUp, holding, refusing: refusingRequests },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Suite>>>>;

export type Own = keyof typeof OWN_SUITES;

/** The primitives whose own suites run a second time, with seats that are kept. */
export const KEPT: readonly Own[] = ['reader-writer', 'semaphore'];

/** Runs all suites of one primitive's own for one use of its locks. */
export function runOwnSuites(own: Own, subject: OwnSubject): void {
  describe(`${subject.keeps ? 'kept ' : ''}${own}, ${subject.wakeups}`, () => {
    for (const [title, suite] of Object.entries<Suite>(OWN_SUITES[own])) {
      describe(title, () => {
        suite(subject);
      });
    }
  });
}
