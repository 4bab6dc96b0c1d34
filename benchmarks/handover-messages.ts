import type { Pass, TurnTakerOptions } from './floor.js';

/** When a block is measured, on the clock that the processes share; what comes before warms up. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What the benchmark tells one of the processes. Each order is answered by one report. */
export type Order =
  | { readonly type: 'connect'; readonly uri: string; readonly dbName: string }
  /** Want the lock again and again. */
  | {
      readonly type: 'contend';
      readonly span: Span;
      readonly holdMs: number;
      readonly thinkMs: number;
      readonly countsCommands: boolean;
    }
  /** Open a change stream and wait for one's turn; answered when the stream is open. */
  | { readonly type: 'listen'; readonly turns: TurnTakerOptions }
  /** Pass the turn on, until the time is over; answered when the stream is closed. */
  | { readonly type: 'bounce'; readonly span: Span; readonly begins: boolean }
  | { readonly type: 'end' };

export type Report =
  | { readonly type: 'done' }
  | { readonly type: 'contended'; readonly holds: readonly Hold[]; readonly commands: readonly SentCommand[] }
  | { readonly type: 'bounced'; readonly passed: readonly Pass[]; readonly received: readonly Pass[] }
  | { readonly type: 'failed'; readonly message: string };

/** One hold; `releasedMs` is the moment just before the release call. */
export interface Hold {
  readonly token: number;
  readonly askedMs: number;
  readonly grantedMs: number;
  readonly releasedMs: number;
}

export interface SentCommand {
  readonly name: string;
  readonly atMs: number;
}
