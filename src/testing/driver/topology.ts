import type { Timer } from '../../clock.js';
import type { SimulatedProcess } from '../processes/simulated-process.js';
import type { Role } from '../replica-set/member.js';
import type { Deployment } from './deployment.js';
import { networkError, networkTimeout, selectionFailed } from './driver-errors.js';

/** The driver's default for `serverSelectionTimeoutMS`. */
export const SELECTION_TIMEOUT_MS = 30_000;

/** How long a monitor waits for an answer before it gives a member up, in ms. */
const MONITOR_TIMEOUT_MS = 10_000;

/** A monitor hears of a change after a random time between these two, in ms. */
const LEAST_DETECTION_MS = 2;
const MOST_DETECTION_MS = 30;

interface ServerDescription {
  readonly address: string;
  readonly type: 'RSPrimary' | 'RSSecondary' | 'Unknown';
  readonly error?: Error;
}

/** The shape of the driver's `TopologyDescription`, as far as the library reads it. */
interface Description {
  readonly type: 'ReplicaSetNoPrimary' | 'ReplicaSetWithPrimary' | 'Unknown';
  readonly servers: ReadonlyMap<string, ServerDescription>;
}

export interface DescriptionChange {
  readonly previousDescription: Description;
  readonly newDescription: Description;
}

export interface TopologyListener {
  changed(change: DescriptionChange): void;
  /** The monitors have given all members up. The driver then interrupts what is in flight. */
  givenUp(): void;
}

/** The members as the monitors of one client know them, and the commands that wait for a primary. */
export class Topology {
  readonly #process: SimulatedProcess;
  readonly #deployment: Deployment;
  readonly #listener: TopologyListener;
  readonly #waiting = new Set<() => void>();
  #description: Description = { type: 'Unknown', servers: new Map() };
  /** While the process is cut off: the timer after which its monitors give all members up. */
  #silence: Timer | undefined;

  constructor(process: SimulatedProcess, deployment: Deployment, listener: TopologyListener) {
    this.#process = process;
    this.#deployment = deployment;
    this.#listener = listener;
  }

  open(): void {
    const servers = [...this.#deployment.roles().keys()].map((address) => unknown(address));
    this.#become({ type: 'ReplicaSetNoPrimary', servers: byAddress(servers) });
    this.#process.send(() => {
      this.#process.receive(() => {
        this.#look();
      });
    });
  }

  /**
   * Called when the members have changed, or may have changed. The monitors hear of the change soon, unless the process
   * is cut off.
   */
  changed(): void {
    const delayMs =
      LEAST_DETECTION_MS + this.#process.clock.chance.number() * (MOST_DETECTION_MS - LEAST_DETECTION_MS);
    this.#process.receive(() => {
      this.#look();
    }, delayMs);
  }

  /**
   * Called when the process was cut off. Its monitors give all members up after `MONITOR_TIMEOUT_MS`, unless `healed`
   * or `close` is called before.
   */
  cut(): void {
    if (this.#silence !== undefined) return;
    const { clock } = this.#process;
    this.#silence = clock.at(clock.nowMs() + MONITOR_TIMEOUT_MS, () => {
      const timeout = networkTimeout(`no answer within ${String(MONITOR_TIMEOUT_MS)} ms`);
      this.#markAll(timeout);
      this.#listener.givenUp();
    });
  }

  healed(): void {
    this.#silence?.cancel();
    this.#silence = undefined;
    this.changed();
  }

  /**
   * Called when this member has closed a connection, or has answered that it is not primary or that it stops. Perhaps
   * this member is not primary any more.
   */
  suspect(address: string): void {
    const server = this.#description.servers.get(address);
    if (server?.type !== 'RSPrimary') return;
    const others = [...this.#description.servers.values()].filter((each) => each !== server);
    this.#become({ type: 'ReplicaSetNoPrimary', servers: byAddress([...others, unknown(address)]) });
    this.changed();
  }

  close(): void {
    this.#silence?.cancel();
    this.#silence = undefined;
    this.#description = { type: 'Unknown', servers: new Map() };
  }

  /**
   * Resolves with the address of the primary as soon as the monitors know one. Rejects after `SELECTION_TIMEOUT_MS`, or
   * when the signal aborts.
   */
  async primary(signal: AbortSignal | undefined): Promise<string> {
    const { clock } = this.#process;
    const endMs = clock.nowMs() + SELECTION_TIMEOUT_MS;
    for (;;) {
      signal?.throwIfAborted();
      const primary = primaryIn(this.#description);
      if (primary !== undefined) return primary;
      if (clock.nowMs() >= endMs) throw selectionFailed(SELECTION_TIMEOUT_MS, this.#description);
      await this.#nextChange(endMs, signal);
    }
  }

  async #nextChange(endMs: number, signal: AbortSignal | undefined): Promise<void> {
    await new Promise<void>((resolve) => {
      const over = (): void => {
        this.#waiting.delete(over);
        timer.cancel();
        signal?.removeEventListener('abort', over);
        resolve();
      };
      const timer = this.#process.clock.at(endMs, over);
      this.#waiting.add(over);
      signal?.addEventListener('abort', over, { once: true });
    });
  }

  #look(): void {
    const servers = [...this.#deployment.roles()].map(describe);
    const hasPrimary = servers.some(({ type }) => type === 'RSPrimary');
    const type = hasPrimary ? 'ReplicaSetWithPrimary' : 'ReplicaSetNoPrimary';
    this.#become({ type, servers: byAddress(servers) });
  }

  #markAll(error: Error): void {
    const servers = [...this.#description.servers.keys()].map((address) => unknown(address, error));
    this.#become({ type: 'ReplicaSetNoPrimary', servers: byAddress(servers) });
  }

  #become(newDescription: Description): void {
    const previousDescription = this.#description;
    this.#description = newDescription;
    this.#listener.changed({ previousDescription, newDescription });
    for (const notify of [...this.#waiting]) notify();
  }
}

const unknown = (address: string, error?: Error): ServerDescription => ({
  address,
  type: 'Unknown',
  ...(error === undefined ? {} : { error }),
});

const describe = ([address, role]: readonly [string, Role]): ServerDescription => {
  if (role === 'down') return unknown(address, networkError(`connect ECONNREFUSED ${address}`));
  return { address, type: role === 'primary' ? 'RSPrimary' : 'RSSecondary' };
};

const byAddress = (servers: readonly ServerDescription[]): ReadonlyMap<string, ServerDescription> =>
  new Map(servers.map((server) => [server.address, server]));

const primaryIn = ({ servers }: Description): string | undefined =>
  [...servers.values()].find(({ type }) => type === 'RSPrimary')?.address;
