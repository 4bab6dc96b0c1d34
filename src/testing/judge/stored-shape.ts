import { DOCUMENT_VERSION, LOCK_KINDS } from '../../protocol/lock-document.js';
import type { LockKind } from '../../protocol/lock-document.js';

type Fields = Readonly<Record<string, unknown>>;

/** Tells what is wrong with a value, in words that follow the name of its field; `undefined` if nothing is. */
type Shape = (value: unknown) => string | undefined;

/** What is wrong with the shape of a lock document; `undefined` if nothing is. A process would call it corrupt. */
export function shapeFault(document: Fields): string | undefined {
  const { kind } = document;
  const known = LOCK_KINDS.find((one) => one === kind);
  if (known === undefined) return `kind is ${shown(kind)}`;
  return faultIn(document, { ...COMMON, ...OF_KIND[known] });
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** The first fault of these fields, after the path of its field. */
function faultIn(fields: Fields, shapes: Readonly<Record<string, Shape>>, path = ''): string | undefined {
  for (const [field, shape] of Object.entries(shapes)) {
    const fault = shape(fields[field]);
    if (fault !== undefined) return `${path}${field}${fault}`;
  }
  return undefined;
}

const shown = (value: unknown): string => {
  if (value === undefined) return 'missing';
  if (Array.isArray(value)) return 'an array';
  return isFields(value) ? 'an object' : JSON.stringify(value);
};

const isShaped =
  (what: string, accepts: (value: unknown) => boolean): Shape =>
  (value) =>
    accepts(value) ? undefined : ` is ${shown(value)}, not ${what}`;

const text = isShaped('a text', (value) => typeof value === 'string');
const date = isShaped('a date', (value) => value instanceof Date && !Number.isNaN(value.getTime()));
const whole = isShaped('a whole number', Number.isInteger);
const maybe =
  (shape: Shape): Shape =>
  (value) =>
    value === undefined ? undefined : shape(value);
const empty =
  (shape: Shape): Shape =>
  (value) =>
    value === null ? undefined : shape(value);

const record =
  (shapes: Readonly<Record<string, Shape>>): Shape =>
  (value) => {
    if (!isFields(value)) return ` is ${shown(value)}, not an object`;
    const fault = faultIn(value, shapes);
    return fault === undefined ? undefined : `.${fault}`;
  };

const listOf =
  (shape: Shape): Shape =>
  (value) =>
    Array.isArray(value)
      ? faultIn(
          Object.fromEntries(value.entries()),
          Object.fromEntries(value.map((_, index) => [index, shape])),
          '.',
        )
      : ` is ${shown(value)}, not an array`;

const mapOf =
  (shape: Shape): Shape =>
  (value) =>
    isFields(value)
      ? faultIn(value, Object.fromEntries(Object.keys(value).map((id) => [id, shape])), '.')
      : ` is ${shown(value)}, not an object`;

const MEMBER = { process: text, leaseMs: whole, expiresAt: date, keeps: maybe(whole) };
const LEASE = { ...MEMBER, id: text, token: whole, acquiredAt: date };
const lease = record(LEASE);

const COMMON: Readonly<Record<string, Shape>> = {
  v: isShaped(String(DOCUMENT_VERSION), (value) => value === DOCUMENT_VERSION),
  fence: whole,
  wake: text,
  purgeAt: date,
  queue: mapOf(record({ ...MEMBER, since: date })),
};

const OF_KIND: Readonly<Record<LockKind, Readonly<Record<string, Shape>>>> = {
  mutex: { holder: empty(lease) },
  election: { holder: empty(lease) },
  'reader-writer': { readers: listOf(lease), writer: empty(lease) },
  semaphore: { limit: whole, holders: listOf(record({ ...LEASE, permits: whole })) },
};
