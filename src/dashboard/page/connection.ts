import { NOT_REVOKED } from '../not-revoked.js';
import type { BoardMessage } from '../wire.js';

/**
 * The pause before the page connects again after the server has refused a connection, in ms. The browser itself
 * connects again only after a connection that broke.
 */
const AGAIN_MS = 2_000;

/** How long the page waits for an answer, in ms. A revocation may wait for the store, which has its own bounds. */
const ANSWER_MS = 30_000;

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

/** What a message has. */
export interface Reach {
  /**
   * Whether the message is the first one of its connection that has `found`. Such a message has every row that is shown.
   */
  readonly isWhole: boolean;
  /** Whether the message is the first one with `found` after a change of the filter. The very first one counts too. */
  readonly isOtherFilter: boolean;
}

/** What the page does with the events. */
export interface Listener {
  received(message: BoardMessage, reach: Reach): void;
  /** There is no connection to the server of the page. The page connects again by itself. */
  disconnected(): void;
  /** The server of the page has refused the connection. */
  refused(words: string): void;
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
  /** The filter of the rows that were received last. */
  #shownFilter: string | undefined;

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
      const isOtherFilter = isWhole && this.#shownFilter !== filter;
      if (isWhole) this.#shownFilter = filter;
      this.#listener.received(message, { isWhole, isOtherFilter });
    };
    source.onerror = () => {
      if (source !== this.#source) return;
      this.#answered();
      this.#listener.disconnected();
      if (source.readyState === EventSource.CLOSED) void this.#closed(source, filter);
    };
  }

  /** The browser tells no page why the server has refused its events. So the page asks once more. */
  async #closed(source: EventSource, filter: string): Promise<void> {
    const refusal = await refusalOf(source.url);
    if (source !== this.#source) return;
    if (refusal !== undefined) this.#listener.refused(refusal.words);
    if (refusal?.isFinal === true) return;
    this.#again = setTimeout(() => {
      this.open(filter);
    }, AGAIN_MS);
  }

  #answered(): void {
    this.#hasAnswered = true;
    for (const source of this.#older) source.close();
    this.#older = [];
  }
}

interface Refusal {
  readonly words: string;
  /** Whether another try would get the same answer, so that only the user can do something. */
  readonly isFinal: boolean;
}

/** Asks what the server answers to a request for events; `undefined` if it answers with events or not at all. */
async function refusalOf(address: string): Promise<Refusal | undefined> {
  try {
    // The page of a login, to which a server may redirect, is no answer.
    const response = await fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(ANSWER_MS) });
    const type = response.headers.get('content-type') ?? '';
    if (response.ok && type.startsWith('text/event-stream')) {
      await response.body?.cancel();
      return undefined;
    }
    const isFinal = response.ok || response.status === 0 || [401, 403].includes(response.status);
    const why = await whyOf(response);
    const words = isFinal ? `refused: ${why}; reload the page to try again` : `unavailable: ${why}`;
    return { words, isFinal };
  } catch {
    return undefined;
  }
}

/** What the server says of a refusal. The text of a proxy may be a whole page, and is not shown. */
async function whyOf(response: Response): Promise<string> {
  const { ok, status, headers } = response;
  if (ok || status === 0) return 'the session may be over';
  const text = headers.get('content-type')?.startsWith('text/plain') ? await response.text() : '';
  return text.trim().slice(0, 200) || `status ${String(status)}`;
}

const UNKNOWN = 'It may have been revoked: ';

/** Posts a request to revoke; resolves with what to tell the user. */
export async function postRevocation(request: object): Promise<string> {
  try {
    const response = await fetch(addressOf('revoke'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    if (!response.ok) {
      // A proxy answers with 500 or more, too, when it has lost an answer.
      const isKnown = response.status < 500 || response.headers.has(NOT_REVOKED);
      return `${isKnown ? 'Not revoked: ' : UNKNOWN}${await whyOf(response)}.`;
    }
    const { asked, gone, evicted } = (await response.json()) as Record<string, readonly string[] | undefined>;
    if ((evicted?.length ?? 0) > 0) return 'Revoked by force. The old holder may go on working for a while.';
    if ((asked?.length ?? 0) > 0) return 'The holder was asked to release.';
    return (gone?.length ?? 0) > 0 ? 'The hold had ended before.' : 'There was no hold to revoke.';
  } catch {
    return `${UNKNOWN}the server of this page did not answer.`;
  }
}
