import type { Place } from '../peer.js';

/** A server that one or more of the peers use. */
export interface PeerServer extends AsyncDisposable {
  readonly place: Place;
  /** Version and settings, in words for people. */
  readonly description: string;
  /** What is left of its locks after its machine has crashed. */
  readonly survives: string;
  /** How often each command came so far; empty where the server does not count them. */
  countCommands(): Promise<ReadonlyMap<string, number>>;
  /** Processor time that it has used so far; `undefined` where nobody tells. */
  processorMs(): number | undefined;
}
