import { existsSync, readdirSync, readFileSync } from 'node:fs';

import { eventually } from '../patience.js';

/**
 * Stops a process by SIGSTOP, and resolves when all its threads stand. On a busy machine the signal comes some time after
 * the call, and a server answers commands until then.
 */
export async function standStill(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await eventually(`process ${pid} stands still`, () => allThreadsStand(pid));
}

/** True where there is no `/proc`, so that nobody can know. */
export function allThreadsStand(pid: number): boolean {
  const threads = `/proc/${pid}/task`;
  return !existsSync(threads) || readdirSync(threads).every((thread) => stands(`${threads}/${thread}/stat`));
}

function stands(statFile: string): boolean {
  try {
    // The state comes after the name, which is in brackets and may have any characters.
    return /\) [Tt] [^)]*$/.test(readFileSync(statFile, 'utf8'));
  } catch {
    // The thread has just ended.
    return false;
  }
}
