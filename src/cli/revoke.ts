import { openSession } from './connection.js';
import type { CommonOptions } from './connection.js';
import { EXIT } from './exit-codes.js';

export interface RevokeCommandOptions extends CommonOptions {
  readonly id?: string | undefined;
  readonly why?: string | undefined;
  readonly force?: boolean | undefined;
}

/** Revokes the holds of a lock, or one of them. */
export async function revoke(name: string, options: RevokeCommandOptions): Promise<number> {
  await using session = await openSession(options, { label: 'leasehold revoke' });
  const { id, why, force } = options;
  const result = await session.locks.revoke(name, { id, why, force });
  const { asked, evicted, gone } = result;
  if (session.output.isJson) session.output.row(result);
  else session.output.line(`asked ${asked.length}, evicted ${evicted.length}, gone ${gone.length}`);
  return EXIT.ok;
}
