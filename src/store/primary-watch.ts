import type { DriverClient, DriverTopology, DriverTopologyChange } from '../driver-types.js';
import { SharedPerClient } from './shared-per-client.js';
import type { TopologyObserver } from './shared-per-client.js';

/** A command or a change stream that waits for the primary's answer. */
interface AwaitedCommand {
  /**
   * The address of the primary that has to answer. `null`: no primary was known at the sending, and none has been
   * reported since. `undefined`: at the sending, this watch knew of no report of the driver.
   */
  primary: string | null | undefined;
  readonly onFollowed: (error: Error) => void;
}

/**
 * Ends the commands and change streams that wait for a primary, as soon as another primary has replaced it. A primary
 * that stands still closes no connection. The driver goes on waiting for it, although the driver's monitors know the
 * new primary. Without this watch, the first grant after a failover could come a whole `storeTimeoutMs` late (E17).
 *
 * All providers of a client share one watch.
 */
export class PrimaryWatch implements TopologyObserver {
  static readonly #shared = new SharedPerClient((client) => new PrimaryWatch(client));
  readonly #client: DriverClient;
  readonly #awaited = new Set<AwaitedCommand>();
  #primary: string | null | undefined;

  private constructor(client: DriverClient) {
    this.#client = client;
  }

  /** Returns the shared watch of this client. Each `join` needs one `leave`. */
  static join(client: DriverClient): PrimaryWatch {
    return PrimaryWatch.#shared.join(client);
  }

  leave(): void {
    PrimaryWatch.#shared.leave(this.#client);
  }

  /** `SharedPerClient` calls `forget`, `closed` and `changed`. No other code does. */
  forget(): void {
    this.#primary = undefined;
  }

  closed(): void {
    this.#primary = null;
  }

  /** Calls back once, when another primary replaces the present one. The returned function unsubscribes. */
  asking(onFollowed: (error: Error) => void): () => void {
    const command: AwaitedCommand = { primary: this.#primary, onFollowed };
    this.#awaited.add(command);
    return () => this.#awaited.delete(command);
  }

  changed({ previousDescription, newDescription }: DriverTopologyChange): void {
    const next = primaryOf(newDescription);
    this.#primary = next;
    if (next === null) return;
    const before = primaryOf(previousDescription);
    for (const command of this.#awaited) {
      const { primary = before } = command;
      if (primary === null) command.primary = next;
      else if (primary !== next) this.#followed(command, primary, next);
    }
  }

  #followed(command: AwaitedCommand, primary: string, next: string): void {
    this.#awaited.delete(command);
    command.onFollowed(new Error(`no answer from ${primary}, and ${next} is the primary now`));
  }
}

function primaryOf({ servers }: DriverTopology): string | null {
  for (const { type, address } of servers.values()) if (type === 'RSPrimary') return address;
  return null;
}
