/** What the benchmark tells the process that makes the load. Each order is answered by one report. */
export type Order =
  | { readonly type: 'load'; readonly uri: string; readonly dbName: string; readonly load: Load }
  | { readonly type: 'unload' }
  | { readonly type: 'end' };

export interface Load {
  readonly leaseMs: number;
  readonly holds: number;
  /** Of one lock, in so many providers. */
  readonly waiters: number;
  readonly waitingProviders: number;
}

export type Report =
  | { readonly type: 'loaded' }
  /** `leastLeftMs`: the least that any look found left of any hold. */
  | { readonly type: 'unloaded'; readonly lost: number; readonly leastLeftMs: number }
  | { readonly type: 'ended' }
  | { readonly type: 'failed'; readonly message: string };
