export type Reply =
  | { readonly type: 'answer'; readonly document: Answer }
  | {
      readonly type: 'failure';
      readonly code: number;
      readonly codeName: string;
      readonly message: string;
      readonly details?: Answer;
    }
  /** The connection was closed, so it is not known whether the command was applied. */
  | { readonly type: 'disconnected'; readonly message: string }
  /** The simulation cannot run the command. */
  | { readonly type: 'not-simulated'; readonly error: Error };

export type Respond = (reply: Reply) => void;

export type Answer = Readonly<Record<string, unknown>>;

/**
 * Whether this reply to a write says that the write was applied, at least in part. A write that matched nothing and had
 * no error counts.
 */
export function isApplied(reply: Reply): boolean {
  if (reply.type !== 'answer') return false;
  const { n, writeErrors } = reply.document;
  return writeErrors === undefined || n !== 0;
}

export const answered = (document: Answer): Reply => ({ type: 'answer', document: { ...document, ok: 1 } });

export const failed = (code: number, codeName: string, message: string, details?: Answer): Reply => ({
  type: 'failure',
  code,
  codeName,
  message,
  ...(details === undefined ? {} : { details }),
});
