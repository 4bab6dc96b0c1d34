/** What one process of the test of linked hand-overs is started with. */
export interface TraceTask {
  readonly uri: string;
  readonly database: string;
}

export type TraceOrder = { readonly does: 'acquire' } | { readonly does: 'release' };

export interface TraceSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
}

export type TraceLine =
  | { readonly says: 'ready' }
  | { readonly says: 'waits' }
  | { readonly says: 'holds' }
  | { readonly says: 'released'; readonly spans: readonly TraceSpan[]; readonly heardBy: readonly unknown[] };
