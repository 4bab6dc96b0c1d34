import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

import { within } from '../patience.js';

/** How long strace may take to take hold of all threads, and to let go of them. */
const HOLD_MS = 60_000;

/** What is written is on the disk only when these return. */
const SYNCS = 'fdatasync,fsync';

const tracing = (delayMs: number): readonly string[] => [
  ...['-f', '-o', '/dev/null'],
  ...['-e', `trace=${SYNCS}`, '-e', 'signal=none'],
  ...['-e', `inject=${SYNCS}:delay_enter=${delayMs * 1_000}`],
];

interface SlowDisks {
  end(): Promise<void>;
}

/** Whatever these processes write takes so much longer to be on the disk, until the end. */
export async function slowDisks(pids: readonly number[], delayMs: number): Promise<SlowDisks> {
  const victims = pids.flatMap((pid) => ['-p', String(pid)]);
  const tracer = spawn('strace', [...tracing(delayMs), ...victims], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(tracer, 'close');
  const end = async (): Promise<void> => {
    // It lets go of all threads before it ends.
    tracer.kill('SIGTERM');
    await within(HOLD_MS, `strace lets go of ${pids.join()}`, ended);
  };
  let said = '';
  const attached = new Promise<true>((resolve) => {
    tracer.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (pids.every((pid) => said.includes(`Process ${pid} attached`))) resolve(true);
    });
  });
  try {
    const isAttached = Promise.race([attached, ended.then(() => false)]);
    if (!(await within(HOLD_MS, `strace holds ${pids.join()}`, isAttached))) {
      throw new Error(`strace cannot hold ${pids.join()}: ${said}`);
    }
  } catch (error) {
    await end();
    throw error;
  }
  return { end };
}

/** Holds a process that is nobody's parent or child here, as a mongod is to strace. */
const TRIAL = 'sleep 0.2 & exec 2>&1; strace "$@" -p $!';

let refusal: string | null | undefined;

/** Why no disk can be made slow on this machine; undefined if it can. */
export function slowDisksRefusal(): string | undefined {
  if (refusal === undefined) {
    const { status, stdout } = spawnSync('/bin/sh', ['-c', TRIAL, 'sh', ...tracing(1)], { encoding: 'utf8' });
    refusal = status === 0 ? null : `no process can be held by strace: ${stdout.trim()}`;
  }
  return refusal ?? undefined;
}
