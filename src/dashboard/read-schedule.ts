// When the feed reads next. While its change stream is refused, the feed polls: it reads all locks again and again.

import { Backoff } from '../backoff.js';

/** The pauses after failed reads. */
export const AFTER_FAILURES: Backoff = new Backoff(250, 2_000);

/**
 * The least time from the beginning of a read to the beginning of the next one, in ms. All changes in between are read
 * together. After a failed read, `AFTER_FAILURES` decides instead.
 */
const READ_EVERY_MS = 500;

/**
 * The pause after a read that succeeded is at least this many times as long as the read, or at least `MAX_PAUSE_MS` if
 * that is shorter. A read is all commands between two pauses. So reads of up to a second take at most a quarter of the
 * time.
 */
const PAUSES_PER_READ = 3;

/** The longest pause after a read if the feed does not poll, in ms. A read of very many locks leads to this pause. */
const MAX_PAUSE_MS = 3_000;

/**
 * During a pause the feed holds the change stream back, and the server collects the changes. The feed lets the stream
 * go on this long before the next read is due, in ms, so that the collected changes arrive in time.
 */
export const COLLECT_MS = 50;

/**
 * How often the feed searches the board for leases and places whose expiry has passed, in ms, if no change is reported.
 * After a long read, the next search is later. No event reports an expiry.
 */
export const LOOK_EVERY_MS = 1_000;

/** When the next read is due if the feed does not poll, and the last read has just ended. */
export function nextReadMs(startedMs: number, endedMs: number): number {
  const pauseMs = Math.min(PAUSES_PER_READ * (endedMs - startedMs), MAX_PAUSE_MS);
  return Math.max(startedMs + READ_EVERY_MS, endedMs + pauseMs);
}

/** The least pause between two reads of all locks if the feed polls, in ms. */
const POLL_EVERY_MS = 1_000;

/**
 * If the feed polls, a pause is at least this many times as long as the read before it. So the reads take at most a
 * tenth of the time.
 */
const PAUSES_PER_POLL = 9;

/** When the next read is due if the feed polls, and the last read has just ended. */
export const nextPollMs = (startedMs: number, endedMs: number): number =>
  endedMs + Math.max(POLL_EVERY_MS, PAUSES_PER_POLL * (endedMs - startedMs));
