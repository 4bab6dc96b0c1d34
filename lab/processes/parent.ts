// The other end of a Child, in the process itself.
import { createInterface } from 'node:readline';

import { asRecord, recorded } from './record.js';

/** The exit code of a process whose parent is gone, however that ended. */
const ORPHANED = 8;

// Opened at once, so that a process which counts what it has open finds no more of it later.
const { stdin, stdout } = process;

/** CLOCK_MONOTONIC, which all processes of a machine share. */
export const nowNs = (): string => String(process.hrtime.bigint());

/** The first argument of this process, which its parent wrote as JSON. */
export const task = (): unknown => JSON.parse(process.argv[2] ?? '');

/** Tells the parent a line. It is with the operating system before the next step is taken, so a kill loses none. */
export function tell(line: object): void {
  stdout.write(asRecord(line));
}

/**
 * Calls `obey` with each order of the parent, and ends this process when the parent has ended. The process lives for
 * the next order until the returned function is called.
 */
export function onOrders(obey: (order: never) => void): () => void {
  const input = createInterface({ input: stdin });
  input.on('line', (line) => {
    obey(recorded(line) as never);
  });
  stdin.once('end', exit);
  return () => {
    stdin.off('end', exit);
    input.close();
    stdin.destroy();
  };
}

/** For a process without orders: it ends when its parent has ended, and does not live for that. */
export function endWithParent(): void {
  stdin.once('end', exit).resume().unref();
}

function exit(): never {
  process.exit(ORPHANED);
}
