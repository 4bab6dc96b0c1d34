import { isSpanContextValid } from '@opentelemetry/api';
import type { SpanContext } from '@opentelemetry/api';

/** Version 00 of https://www.w3.org/TR/trace-context/#traceparent-header: 55 bytes. */
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/**
 * Returns `undefined` for an invalid context, such as one whose trace id or span id is all zeros. Without an SDK, a new
 * span has the context of its parent, if that is valid, and otherwise an invalid context.
 */
export function traceparentOf(spanContext: SpanContext): string | undefined {
  if (!isSpanContextValid(spanContext)) return undefined;
  const { traceId, spanId, traceFlags } = spanContext;
  return `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`;
}

/** Returns `undefined` for a value that is not of the form `TRACEPARENT`. */
export function contextOf(traceparent: unknown): SpanContext | undefined {
  const found = typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent) : null;
  if (found === null) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = found;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}
