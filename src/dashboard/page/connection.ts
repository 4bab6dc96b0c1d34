import type { BoardMessage } from '../wire.js';

/**
 * The pause before the page connects again after the server has refused a connection, in ms: the browser gives up then.
 * After a connection that broke, the browser itself connects again.
 */
const AGAIN_MS = 2_000;

/**
 * The path of the page with a slash at its end: `events` and `revoke` follow it. If `leasehold dashboard` serves the
 * page, the path has the secret token.
 */
const base = `${location.pathname.replace(/\/$/, '')}/`;

/** A path of the same dashboard. It keeps the query of the page, because the option `authorize` may read it. */
function addressOf(path: string, more: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(more)) query.set(name, value);
  const text = query.toString();
  return `${base}${path}${text === '' ? '' : `?${text}`}`;
}

/** What the page does with the events. */
export interface Listener {
  /**
   * @param isWhole - Whether the message is the first one of its connection that has `found`. Such a message has every
   *   row that is shown.
   */
  received(message: BoardMessage, isWhole: boolean): void;
  /** There is no connection to the server of the page. The page connects again by itself. */
  disconnected(): void;
}

/** The events of the server, for one filter at a time. */
export class Connection {
  readonly #listener: Listener;
  #source: EventSource | undefined;
  /**
   * Older sources. Their events are ignored. They stay open until the present source has answered or failed, so that
   * the server has a viewer meanwhile and keeps its board up to date.
   */
  #older: EventSource[] = [];
  #hasAnswered = false;
  #again: number | undefined;

  constructor(listener: Listener) {
    this.#listener = listener;
  }

  /** Asks for the events of this filter. From now on, the events of earlier filters are ignored. */
  open(filter: string): void {
    clearTimeout(this.#again);
    if (this.#source !== undefined && this.#hasAnswered) this.#older.push(this.#source);
    else this.#source?.close();
    this.#hasAnswered = false;
    const source = new EventSource(addressOf('events', filter === '' ? {} : { filter }));
    this.#source = source;
    let hasRows = false;
    source.onopen = () => {
      hasRows = false;
    };
    source.onmessage = ({ data }: MessageEvent<string>) => {
      if (source !== this.#source) return;
      this.#answered();
      const message = JSON.parse(data) as BoardMessage;
      const isWhole = !hasRows && message.found !== undefined;
      hasRows ||= isWhole;
      this.#listener.received(message, isWhole);
    };
    source.onerror = () => {
      if (source !== this.#source) return;
      this.#answered();
      this.#listener.disconnected();
      if (source.readyState !== EventSource.CLOSED) return;
      this.#again = setTimeout(() => {
        this.open(filter);
      }, AGAIN_MS);
    };
  }

  #answered(): void {
    this.#hasAnswered = true;
    for (const source of this.#older) source.close();
    this.#older = [];
  }
}

/** Posts a request to revoke; resolves with what to tell the user. */
export async function postRevocation(request: object): Promise<string> {
  try {
    const response = await fetch(addressOf('revoke'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    });
    if (!response.ok)
      return `Not revoked: ${(await response.text()).trim() || `status ${String(response.status)}`}.`;
    const { asked, gone, evicted } = (await response.json()) as Record<string, readonly string[] | undefined>;
    if ((evicted?.length ?? 0) > 0) return 'Revoked by force. The old holder may go on working for a while.';
    if ((asked?.length ?? 0) > 0) return 'The holder was asked to release.';
    return (gone?.length ?? 0) > 0 ? 'The hold had ended before.' : 'There was no hold to revoke.';
  } catch {
    return 'Not revoked: the server of this page did not answer.';
  }
}
