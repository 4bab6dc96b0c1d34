import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Document } from 'mongodb';
import { expect, it } from 'vitest';

import { endWithThisProcess } from '../../../lab/processes/end-with-this-process.js';
import { BUSY_MACHINE_MS, eventually, within } from '../../../lab/patience.js';
import { Fleet, programFolder, useCommandLine } from './command-line.js';

useCommandLine();

/** More than a pipe and its reader take at once. */
const MANY = 4_000;

/** Longer than a command that has ended may linger. */
const LONGER_THAN_LINGERING_MS = 1_500;

async function storeMany(fleet: Fleet): Promise<void> {
  await (await fleet.locks.acquireMutex('lock')).release();
  const collection = fleet.database.plain.db.collection<Document & { _id: string }>('distributed.locks');
  // Read without conversion: a long that is read as a number would be written back as another type.
  const raw = { promoteValues: false, promoteLongs: false };
  const stored = await collection.findOne({ _id: 'lock' }, raw);
  if (stored === null) throw new Error('the lock is not stored');
  await collection.insertMany(
    Array.from({ length: MANY - 1 }, (_, at) => ({ ...stored, _id: `lock-${String(at)}` })),
  );
}

it('a reader that is slower than the command gets every row before the exit', async () => {
  const fleet = new Fleet();
  await storeMany(fleet);
  const appName = `ls-${fleet.database.name}`;
  const uri = fleet.database.uri.replace('/?', `/?appName=${appName}&`);
  const child = spawn(process.execPath, [`${programFolder()}/main.js`, 'ls', '--json'], {
    env: { ...process.env, ...fleet.env, LEASEHOLD_URI: uri },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const leave = endWithThisProcess(() => child.kill('SIGKILL'));
  const isConnected = async (): Promise<boolean> => {
    const { inprog } = (await fleet.database.plain.client
      .db('admin')
      .command({ currentOp: 1, $all: true, appName })) as { inprog: readonly object[] };
    return inprog.length > 0;
  };
  const ended = once(child, 'close');
  await eventually('the command prints', () => child.stdout.readableLength > 0);
  await eventually('the command has ended its work', async () => !(await isConnected()));
  await delay(LONGER_THAN_LINGERING_MS);
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk));
  const [code] = (await within(BUSY_MACHINE_MS, 'the command ends', ended)) as [number];
  leave();
  expect(code).toBe(0);
  expect(printed.trim().split('\n')).toHaveLength(MANY);
});

it.each([
  ['watch', [], 143],
  ['run', ['--lease', '6s'], 0],
] as const)(
  'a reader that stands still does not keep %s, which a signal has ended',
  async (command, options, expected) => {
    const fleet = new Fleet();
    const script = `
    process.argv[1] = ${JSON.stringify(`${programFolder()}/main.js`)};
    process.stdout.write('x'.repeat(1_000_000));
    await import(process.argv[1]);`;
    const child = spawn(
      process.execPath,
      ['--input-type=module', '-e', script, 'program', command, ...options, 'lock'],
      {
        env: { ...process.env, ...fleet.env },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const leave = endWithThisProcess(() => child.kill('SIGKILL'));
    const ended = once(child, 'exit');
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
    const leaseEnds = new Set<number>();
    await eventually('the command is at work', async () => {
      if (command === 'watch') return said.includes('no lock');
      const [holder] = (await fleet.locks.inspect('lock'))?.holders ?? [];
      if (holder !== undefined) leaseEnds.add(holder.expiresAt.getTime());
      // It knows of its hold: it has extended the lease.
      return leaseEnds.size > 1;
    });
    child.kill('SIGTERM');
    const [code] = (await within(BUSY_MACHINE_MS, 'the command ends', ended)) as [number];
    leave();
    expect(code).toBe(expected);
  },
);
