import type { Reply, Respond } from '../replica-set/reply.js';
import type { Server } from './command.js';

/**
 * Answers a write. Without `isMajority`, the answer comes at once. Otherwise it comes when a majority has everything
 * that this member has now, or when this member steps down or stops.
 */
export function respondToWrite(server: Server, isMajority: boolean, reply: Reply, respond: Respond): void {
  server.replicate();
  if (!isMajority) {
    respond(reply);
    return;
  }
  server.member.whenDurable((isDurable) => {
    respond(isDurable ? reply : withoutMajority(reply));
  });
}

/**
 * The reply of a member that stepped down or stopped before a majority had the write. The write may stay or be rolled
 * back.
 */
function withoutMajority(reply: Reply): Reply {
  if (reply.type !== 'answer') return reply;
  const writeConcernError = {
    code: 189,
    codeName: 'PrimarySteppedDown',
    errmsg: 'the primary stepped down before a majority had the write',
  };
  return { ...reply, document: { ...reply.document, writeConcernError } };
}
