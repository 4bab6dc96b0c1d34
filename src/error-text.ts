import type { LeaseInfo } from './protocol/replies/snapshot.js';

// The words that error messages and warnings share.

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** A name in quotation marks, cut if it is long. */
export const quoted = (name: string): string => JSON.stringify(shortened(name));

/** Cuts a text to 200 characters. A server that refuses a command may repeat the command in its message. */
export const shortened = (message: string): string =>
  message.length > 200 ? `${message.slice(0, 200)}…` : message;

/** What was thrown, as a text. */
export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export const messageOf = (cause: unknown): string =>
  cause instanceof Error ? `: ${shortened(cause.message)}` : '';

export function describeHolder({ candidateId, label, process, why, acquiredAt }: LeaseInfo): string {
  const name = candidateId === undefined ? label : `candidate ${JSON.stringify(candidateId)}`;
  const who = name === undefined ? process : `${name} (${process})`;
  const reason = why === undefined ? '' : ` for ${JSON.stringify(why)}`;
  return `${who}${reason} since ${acquiredAt.toISOString()}`;
}
