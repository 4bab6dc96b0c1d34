import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  context,
  isSpanContextValid,
  trace,
} from '@opentelemetry/api';
import type { Attributes, Context, HrTime, Link, Span, Tracer } from '@opentelemetry/api';
import type { Clock } from '../clock.js';
import { textOf } from '../error-text.js';
import type { LossCause } from '../errors.js';
import { holdEndOf } from '../observation.js';
import type {
  ObservedAcquire,
  ObservedHold,
  ObservedRun,
  ObservedTerm,
  Observer,
  RunScope,
} from '../observer.js';
import { errorTypeOf } from './error-type.js';
import { SpanClock } from './span-clock.js';
import { contextOf, traceparentOf } from './traceparent.js';

const ACQUIRE = 'leasehold.acquire';
const HOLD = 'leasehold.hold';

/** The SDK keeps 128 links of a span by default, drops the others, and warns of them. */
const MAX_LINKS = 128;

/** A span, and the clock of its times. */
interface Timed {
  readonly span: Span;
  readonly clock: SpanClock;
}

/**
 * One request, from its call until the end of its hold. `span` begins with the call. After a grant, `span` becomes the
 * span of the hold: the request carries the trace context of the hold, so that span must exist before the request is
 * sent.
 */
interface Tracked extends Timed {
  readonly parent: Context;
  /** The array that `span` was started with. `#becomeHold` changes it, to move the start of the span to the grant. */
  readonly startTime: HrTime;
  /** When the release of the hold was sent; `undefined` before, and if the release sends nothing. */
  releasedAt?: HrTime;
}

/** The spans of one provider. */
export class LockSpans implements Observer {
  readonly #tracer: Tracer;
  readonly #clock: Clock;
  readonly #requests = new Map<ObservedAcquire, Tracked>();
  /** Granted requests whose callers do not have their holds yet. */
  readonly #granted = new Map<ObservedAcquire, Tracked>();
  readonly #holds = new Map<ObservedHold, Tracked>();
  readonly #terms = new Map<ObservedTerm, Timed>();
  readonly #runs = new Set<Timed>();

  constructor(tracer: Tracer, clock: Clock) {
    this.#tracer = tracer;
    this.#clock = clock;
  }

  acquireStarted(acquire: ObservedAcquire): void {
    // A candidate queues in the background, so the code that once started it is not the parent.
    const parent = acquire.kind === 'election' ? ROOT_CONTEXT : context.active();
    const clock = new SpanClock(this.#clock);
    const startTime = clock.now();
    const span = this.#start(ACQUIRE, { 'leasehold.lock.name': acquire.lockName }, parent, { startTime });
    this.#requests.set(acquire, { span, parent, startTime, clock });
    // A span that is not recording is never exported, so a link to that span would lead nowhere.
    if (span.isRecording()) acquire.traceparent ??= traceparentOf(span.spanContext());
  }

  acquireEnded(acquire: ObservedAcquire): void {
    const tracked = this.#requests.get(acquire);
    if (tracked === undefined) return;
    this.#requests.delete(acquire);
    const { result, error } = acquire;
    if (result === 'granted') {
      this.#granted.set(acquire, tracked);
      this.#becomeHold(acquire, tracked);
      return;
    }
    const { span, clock } = tracked;
    span.setAttributes({ ...attributesOf(acquire), 'leasehold.result': result });
    if (result === 'error') fail(tracked, error);
    span.end(clock.now());
  }

  holdStarted(hold: ObservedHold): void {
    const tracked = this.#granted.get(hold.acquire);
    if (tracked === undefined) return;
    this.#granted.delete(hold.acquire);
    this.#holds.set(hold, tracked);
  }

  holdReleasing(hold: ObservedHold): void {
    const tracked = this.#holds.get(hold);
    if (tracked !== undefined) tracked.releasedAt = tracked.clock.now();
  }

  holdEnded(hold: ObservedHold): void {
    const tracked = this.#holds.get(hold);
    if (tracked === undefined) return;
    this.#holds.delete(hold);
    endHold(tracked, hold.why ?? 'released');
  }

  holdMissed(acquire: ObservedAcquire, why: LossCause): void {
    const tracked = this.#granted.get(acquire);
    if (tracked === undefined) return;
    this.#granted.delete(acquire);
    endHold(tracked, why);
  }

  termStarted(term: ObservedTerm): void {
    const { electionName, candidateId, fencingToken } = term;
    const attributes = {
      'leasehold.lock.name': electionName,
      'leasehold.fencing_token': fencingToken,
      'leasehold.candidate.id': candidateId,
    };
    this.#terms.set(term, this.#startTrace('leasehold.term', attributes));
  }

  termEnded(term: ObservedTerm): void {
    const timed = this.#terms.get(term);
    if (timed === undefined) return;
    this.#terms.delete(term);
    const { span, clock } = timed;
    span.setAttribute('leasehold.ended_by', term.endedBy ?? 'release');
    if (term.endedBy === 'loss') span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(clock.now());
  }

  runStarted({ jobName, electionName, firedAt, fencingToken }: ObservedRun): RunScope {
    const attributes = {
      'leasehold.job.name': jobName,
      'leasehold.lock.name': electionName,
      'leasehold.job.fired_at': firedAt.toISOString(),
      'leasehold.fencing_token': fencingToken,
    };
    const timed = this.#startTrace('leasehold.job.run', attributes);
    const { span, clock } = timed;
    this.#runs.add(timed);
    return {
      within: (work) => context.with(trace.setSpan(ROOT_CONTEXT, span), work),
      ended: (error) => {
        if (!this.#runs.delete(timed)) return;
        if (error !== undefined) fail(timed, error.thrown);
        span.end(clock.now());
      },
    };
  }

  /** Ends every open span. */
  end(): void {
    for (const tracked of [this.#requests, this.#granted, this.#holds])
      for (const { span, clock, releasedAt } of tracked.values()) span.end(releasedAt ?? clock.now());
    for (const { span, clock } of [...this.#terms.values(), ...this.#runs]) span.end(clock.now());
    for (const open of [this.#requests, this.#granted, this.#holds, this.#terms, this.#runs]) open.clear();
  }

  /**
   * Turns the span of the call into the span of the hold, and writes a span of the acquire beside it. The SDK keeps the
   * array of the start time, so a change of the array moves the start to the grant. With an SDK that copies the array,
   * the span of the hold begins at the call.
   */
  #becomeHold(acquire: ObservedAcquire, { span, parent, clock, startTime }: Tracked): void {
    const attributes = attributesOf(acquire);
    const grantedAt = clock.now();
    const asked = { ...attributes, 'leasehold.result': acquire.result };
    const acquired = this.#start(ACQUIRE, asked, parent, { startTime: [...startTime] });
    acquired.end(grantedAt);
    [startTime[0], startTime[1]] = grantedAt;
    span.updateName(HOLD);
    span.setAttributes(attributes);
    for (const link of linksOf(acquire)) span.addLink(link);
  }

  /** A term and a run belong to no request, so their spans begin traces. */
  #startTrace(name: string, attributes: Attributes): Timed {
    const clock = new SpanClock(this.#clock);
    return { span: this.#start(name, attributes, ROOT_CONTEXT, { startTime: clock.now() }), clock };
  }

  #start(name: string, attributes: Attributes, parent: Context, given: { startTime: HrTime }): Span {
    return this.#tracer.startSpan(name, { kind: SpanKind.INTERNAL, attributes, ...given }, parent);
  }
}

const attributesOf = ({ lockName, kind, mode, fencingToken, queuePlace }: ObservedAcquire): Attributes => ({
  'leasehold.lock.name': lockName,
  'leasehold.kind': kind,
  ...(mode !== undefined && { 'leasehold.mode': mode }),
  ...(fencingToken !== undefined && { 'leasehold.fencing_token': fencingToken }),
  ...(queuePlace !== undefined && { 'leasehold.queue.place': queuePlace }),
});

/** Other processes may have stored the texts in `handedBy`, so a text may be no valid trace context. */
const linksOf = ({ handedBy }: ObservedAcquire): readonly Link[] =>
  handedBy
    .flatMap((traceparent) => {
      const spanContext = contextOf(traceparent);
      return spanContext !== undefined && isSpanContextValid(spanContext) ? [{ context: spanContext }] : [];
    })
    .slice(0, MAX_LINKS);

/**
 * The span of a released hold ends when the release is sent, and not when it is answered: the next holder may have its
 * grant before that answer, and the spans of the two holds must not overlap.
 */
function endHold({ span, clock, releasedAt }: Tracked, why: LossCause): void {
  const endedBy = holdEndOf(why);
  const isLost = endedBy === 'loss';
  span.setAttributes({ 'leasehold.ended_by': endedBy, ...(isLost && { 'leasehold.loss.why': why }) });
  if (isLost) span.setStatus({ code: SpanStatusCode.ERROR, message: `lost: ${why}` });
  span.end(releasedAt ?? clock.now());
}

function fail({ span, clock }: Timed, error: unknown): void {
  span.setAttribute('error.type', errorTypeOf(error));
  if (error instanceof Error) span.recordException(error, clock.now());
  span.setStatus({ code: SpanStatusCode.ERROR, message: textOf(error) });
}
