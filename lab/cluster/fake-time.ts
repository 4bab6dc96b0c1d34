import { access } from 'node:fs/promises';
import { renameSync, writeFileSync } from 'node:fs';

const PLACES = [
  '/usr/lib/x86_64-linux-gnu/faketime',
  '/usr/lib/aarch64-linux-gnu/faketime',
  '/usr/lib64/faketime',
  '/usr/lib/faketime',
  '/usr/local/lib/faketime',
].map((folder) => `${folder}/libfaketimeMT.so.1`);

/** libfaketime on this machine: gives a process a wall clock that is set through a file. */
export interface FakeTime {
  /** What the process is to be started with. The file has to be there then: see `setFakeClock`. */
  environment(clockFile: string): Readonly<Record<string, string>>;
}

export async function findFakeTime(places: readonly string[] = PLACES): Promise<FakeTime | undefined> {
  for (const library of places) {
    const isThere = await access(library).then(
      () => true,
      () => false,
    );
    if (isThere) return { environment: (clockFile) => environmentOf(library, clockFile) };
  }
  return undefined;
}

const environmentOf = (library: string, clockFile: string): Readonly<Record<string, string>> => ({
  LD_PRELOAD: library,
  FAKETIME_TIMESTAMP_FILE: clockFile,
  // A change is seen at once, and not when a cached second is over.
  FAKETIME_NO_CACHE: '1',
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
  // Where the library finds it necessary, it mends timed waits on the monotonic clock; they then end at once, and mongod
  // waits in a circle that takes a whole core.
  FAKETIME_FORCE_MONOTONIC_FIX: '0',
});

/** Offset, and rate, of the clock; without a rate the usual one, which the library would otherwise not come back to. */
export function setFakeClock(clockFile: string, offset: string): void {
  // Never half a file for a process that reads it at each look at its clock.
  writeFileSync(`${clockFile}.new`, `${offset}${offset.includes('x') ? '' : ' x1'}\n`);
  renameSync(`${clockFile}.new`, clockFile);
}
