/** What the demo tells a worker. */
export type Order =
  | { readonly type: 'connect'; readonly uri: string; readonly collectionName: string; readonly leaseMs: number }
  /** How long each hold lasts, and the pause after it. The first one starts the work. */
  | { readonly type: 'pace'; readonly holdMs: number; readonly thinkMs: number }
  /** Keep the next hold for ever. */
  | { readonly type: 'keep' }
  /** Finish the present hold and end. */
  | { readonly type: 'stop' };

/** What a worker tells the demo. All times are of the monotonic clock that the processes share. */
export type Report =
  | { readonly type: 'ready' }
  | { readonly type: 'wakeups'; readonly mode: string }
  | { readonly type: 'granted'; readonly token: number; readonly askedMs: number; readonly atMs: number }
  | { readonly type: 'extended'; readonly token: number; readonly remainingMs: number }
  /** The moment just before the release call: from then on the worker does not believe any more that it holds. */
  | { readonly type: 'released'; readonly token: number; readonly atMs: number }
  | { readonly type: 'lost'; readonly token: number; readonly atMs: number; readonly why: string }
  | { readonly type: 'failed'; readonly message: string };

/** The name of the lock that everybody wants. */
export const LOCK_NAME = 'the one lock';
