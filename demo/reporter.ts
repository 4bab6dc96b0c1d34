// Loaded before the example in each process of the demo: sends every line that the example prints to the demo, with the
// time of a clock that all processes of the machine share.
import { endWithParent, nowNs, tell } from '../lab/processes/parent.js';

export interface Report {
  readonly says: 'printed';
  readonly line: string;
  readonly atNs: string;
}

console.log = (line: string) => {
  tell({ says: 'printed', line, atNs: nowNs() } satisfies Report);
};
endWithParent(); // the demo has ended, however that happened
