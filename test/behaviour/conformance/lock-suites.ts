import { describe } from 'vitest';

import type { Subject } from './lock-world.js';
import { contending } from './suites/contending.js';
import { extending } from './suites/extending.js';
import { forgetting } from './suites/forgetting.js';
import { losing } from './suites/losing.js';
import { naming } from './suites/naming.js';
import { storing } from './suites/storing.js';
import { taking } from './suites/taking.js';
import { waiting } from './suites/waiting.js';

export const SUITES = { taking, waiting, contending, naming, losing, forgetting, extending, storing };

/** Runs every suite for one primitive in one mode of waiting. */
export function runLockSuites(subject: Subject): void {
  describe(`${subject.adapter.primitive}, ${subject.wakeups}`, () => {
    for (const [title, suite] of Object.entries(SUITES)) {
      describe(title, () => {
        suite(subject);
      });
    }
  });
}
