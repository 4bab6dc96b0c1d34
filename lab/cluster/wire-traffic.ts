import type { Document } from 'mongodb';

/** `requests` flow to the member, `replies` back. */
export type Direction = 'requests' | 'replies' | 'both';

export interface Slow {
  readonly latencyMs: number;
  /** Drawn anew for each load, and added to its latency. */
  readonly jitterMs?: () => number;
  readonly bytesPerSecond?: number;
}

export interface Request {
  readonly command: string;
  readonly database: string;
  readonly body: Document;
}
