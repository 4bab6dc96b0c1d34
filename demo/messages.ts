/** What the demo tells a worker. */
export type Order =
  | {
      readonly type: 'connect';
      readonly uri: string;
      readonly collectionName: string;
      readonly leaseMs: number;
    }
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
  | Granted
  | { readonly type: 'extended'; readonly token: number; readonly remainingMs: number }
  | Ended
  | { readonly type: 'failed'; readonly message: string };

export interface Granted {
  readonly type: 'granted';
  readonly token: number;
  readonly askedMs: number;
  readonly atMs: number;
  /** Whether the worker keeps this hold for ever. */
  readonly keeps: boolean;
}

/** From this moment on the worker does not believe any more that it holds. Of a release: just before its call. */
export interface Ended {
  readonly type: 'ended';
  readonly token: number;
  readonly atMs: number;
  readonly by: 'release' | 'loss';
}

/** The name of the lock that everybody wants. */
export const LOCK_NAME = 'the one lock';
