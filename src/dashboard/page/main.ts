// The page of the dashboard. It shows what the server sends. The server filters, sorts and counts the locks.

import { plain } from '../hostile-characters.js';
import type { BoardMessage, BoardState, JobRow, LockRow } from '../wire.js';
import { Connection, postRevocation } from './connection.js';
import { elementOf, make, write } from './elements.js';
import { Figures, isCurrent } from './figures.js';
import { JobRowView } from './job-row.js';
import { listenToKeys } from './keys.js';
import { List } from './list.js';
import { lookAtForms } from './form-guard.js';
import type { Revoke } from './lock-details.js';
import { LockRowView } from './lock-row.js';
import { tell } from './notice.js';
import { count, counted } from './times.js';

/**
 * The ages are updated this long after they were drawn last, in ms, unless a message comes before. If locks move, the
 * server sends a message every 500 ms or somewhat later, so the page is drawn once for each message.
 */
const TICK_MS = 1_000;

/**
 * The least time between two summaries for screen readers, in ms, unless the state changes or a search begins or ends.
 */
const SUMMARY_MS = 15_000;

/** The filter is applied when the user has not typed for this time, in ms. */
const FILTER_MS = 150;

const STATES: Readonly<Record<BoardState, string>> = {
  connecting: 'connecting',
  live: 'live',
  polling: 'polling',
  unavailable: 'unavailable, reconnecting',
};

const filterInput = elementOf('filter') as HTMLInputElement;
const stateText = elementOf('state');
const summary = elementOf('summary');
const figures = new Figures(elementOf('figures'));

let mayRevoke = false;
let aheadMs = 0;
let latest: BoardMessage | undefined;
/**
 * The state of the latest message; `connecting` before the first one; `unavailable` while there is no connection to the
 * server of the page.
 */
let state: BoardState = 'connecting';
/** The state in words, or what the server of the page answers instead of events. */
let stateWords = STATES.connecting;
let isSearching = false;
/** Whether the server of the page has answered since the last failure of the connection. */
let isConnected = true;
/** The age of the rows when they were received, in ms. */
let foundAgeMs = 0;
let foundAtMs = 0;
let isDrawing = false;
let tick: number | undefined;
let summarizedAtMs = -Infinity;
/** The time since which the shown rows have not followed the store; `undefined` while they follow it. */
let outdatedSinceMs: number | undefined;

const revoke: Revoke = (name, { id, who }, why, force) => {
  void postRevocation({ name, id, ...(why === '' ? {} : { why }), force }).then((text) => {
    tell(name, who, text);
  });
};

function emptyLocks(): Node {
  const example = make('pre', {}, make('code', {}, 'npx leasehold run hello -- sleep 60'));
  return make(
    'div',
    {},
    make(
      'p',
      {},
      'No lock is stored yet. A lock appears here as soon as a process acquires it, for example by',
    ),
    example,
  );
}

const says = (text: string) => (): Node => make('p', {}, text);

const locks = new List<LockRow>({
  ...{ id: 'locks', title: 'Locks', sorted: 'most contended first' },
  columns: [
    'Name',
    'Kind',
    'Held by',
    'Held for',
    'Time left',
    'Waiting',
    'First waits',
    'Hand-overs',
    'Lost',
  ],
  empty: emptyLocks,
  makeRow: (opened) => new LockRowView(false, mayRevoke ? revoke : null, opened),
});
const elections = new List<LockRow>({
  ...{ id: 'elections', title: 'Elections', sorted: 'by name' },
  columns: ['Name', 'Leader', 'Leads for', 'Time left', 'Standbys'],
  empty: says('No election is stored.'),
  makeRow: (opened) => new LockRowView(true, mayRevoke ? revoke : null, opened),
});
const jobs = new List<JobRow>({
  ...{ id: 'jobs', title: 'Jobs', sorted: 'by election' },
  columns: ['Job', 'Last', 'Outcome', 'Next', 'Missed'],
  empty: says('No job has run yet.'),
  makeRow: (opened) => new JobRowView(opened),
});

function draw(): void {
  isDrawing = false;
  const drawnAtMs = performance.now();
  clearTimeout(tick);
  tick = setTimeout(drawSoon, TICK_MS);
  summarize();
  if (latest === undefined) return;
  // Between two reads of a store that is polled, no message says that the rows have grown older.
  const agesSinceMs = outdatedSinceMs ?? (state === 'polling' ? foundAtMs : drawnAtMs);
  const ageMs = foundAgeMs + drawnAtMs - agesSinceMs;
  const now = { ms: drawnAtMs + aheadMs, ageMs };
  const filter = filterInput.value.trim();
  const isOutdated = outdatedSinceMs !== undefined;
  for (const list of [locks, elections, jobs])
    list.render(now, filter, { isSearching, isConnected, isOutdated });
  figures.show(latest.totals, latest.handOvers, state);
  lookAtForms();
}

function drawSoon(): void {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(draw);
}

function become(next: BoardState, why = '', words = STATES[next]): void {
  state = next;
  stateWords = words;
  if (isSearching || !isCurrent(state)) outdatedSinceMs ??= performance.now();
  else outdatedSinceMs = undefined;
  stateText.dataset['state'] = state;
  write(stateText, stateWords);
  stateText.title = plain(why);
  drawSoon();
}

/**
 * Writes the summary for screen readers, which could not follow every change: at once if the state is new or a search
 * begins or ends, otherwise at most every `SUMMARY_MS`. The state `connecting` is never written.
 */
function summarize(): void {
  const news = `${stateWords}${isSearching && isConnected ? ', searching' : ''}`;
  const isNews = summary.dataset['news'] !== news;
  if (state === 'connecting' || (!isNews && performance.now() - summarizedAtMs < SUMMARY_MS)) return;
  summarizedAtMs = performance.now();
  summary.dataset['news'] = news;
  write(summary, latest === undefined || !isCurrent(state) ? news : `${news}: ${inWords(latest)}`);
}

function inWords({ totals, why }: BoardMessage): string {
  const polling = state === 'polling' ? ` There is no change stream: ${plain(why ?? '')}.` : '';
  const losses = state === 'polling' ? 'losses not counted' : counted(totals.losses, 'loss', 'losses');
  const parts = [
    counted(totals.locks, 'lock'),
    `${count(totals.held)} held`,
    counted(totals.waiting, 'waiter'),
    losses,
  ];
  return `${parts.join(', ')}.${polling}`;
}

const connection = new Connection({
  received: (message, reach) => {
    latest = message;
    mayRevoke = message.mayRevoke;
    aheadMs = message.now - performance.now();
    const { found } = message;
    isConnected = true;
    isSearching = found === undefined;
    if (found !== undefined) {
      foundAgeMs = found.ageMs;
      foundAtMs = performance.now();
      outdatedSinceMs = undefined;
      locks.receive(found.locks, reach);
      elections.receive(found.elections, reach);
      jobs.receive(found.jobs, reach);
    }
    become(message.state, message.why);
  },
  disconnected: () => {
    isConnected = false;
    become('unavailable', 'the server of this page does not answer');
  },
  refused: (words) => {
    become('unavailable', '', plain(words));
  },
});

let typed: number | undefined;
filterInput.addEventListener('input', () => {
  clearTimeout(typed);
  typed = setTimeout(() => {
    connection.open(filterInput.value.trim());
    // The rows are those of another filter until the server answers.
    isSearching = true;
    become(state, stateText.title, stateWords);
  }, FILTER_MS);
});
listenToKeys(filterInput, () => [locks, elections, jobs].flatMap(({ buttons }) => buttons));
// A click may open a row: its ages are shown at once, and its forms are seen.
document.addEventListener('click', drawSoon);
connection.open('');
