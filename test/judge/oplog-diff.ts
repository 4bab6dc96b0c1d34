import type { Document } from 'mongodb';

/** A part of a stored document, read without promoting its values. */
type Fields = Readonly<Record<string, unknown>>;

/**
 * The document after a difference, as the server logs it (`$v: 2`): `d` removes fields, `u` sets them where they stand,
 * `i` puts them at the end, `s<field>` holds the difference of what is in a field. Parts that stay as they were are
 * shared with the document before.
 *
 * The order of fields is the order of the queue. An object of JavaScript keeps it for names that do not look like
 * numbers: attempt ids begin with a `w`.
 */
export function applyDiff(before: Fields, diff: Fields): Document {
  const removed = sectionOf(diff, 'd');
  const updated = sectionOf(diff, 'u');
  const inserted = sectionOf(diff, 'i');
  const nested = nestedIn(diff);
  const after: Document = {};
  for (const [field, value] of Object.entries(before)) {
    if (field in removed || field in inserted) continue;
    const inside = nested.get(field);
    if (field in updated) after[field] = updated[field];
    else after[field] = inside === undefined ? value : applyNested(value, inside);
  }
  // What `u` names and the document lacks goes to the end as well.
  return Object.assign(after, updated, inserted);
}

function applyNested(value: unknown, diff: Fields): unknown {
  if (diff['a'] === true && Array.isArray(value)) return applyArrayDiff(value, diff);
  // The server would leave a value of another type as it is; the difference of two versions never meets one.
  if (diff['a'] === true || !isObject(value)) throw new Error('a difference meets a value of another type');
  return applyDiff(value, diff);
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof Date) &&
  !('_bsontype' in value);

/** `l` is the new length, `u<index>` a new element, `s<index>` the difference of one. */
function applyArrayDiff(before: readonly unknown[], diff: Fields): unknown[] {
  const after = [...before];
  for (const [key, value] of Object.entries(diff)) {
    if (key === 'a') continue;
    if (key === 'l') {
      resize(after, Number(value));
      continue;
    }
    const index = Number(key.slice(1));
    if (!Number.isInteger(index)) throw new Error(`unknown part of a difference: ${key}`);
    if (index >= after.length) resize(after, index + 1);
    after[index] = key.startsWith('s') ? applyNested(after[index], value as Fields) : value;
  }
  return after;
}

function resize(array: unknown[], length: number): void {
  while (array.length < length) array.push(null);
  array.length = length;
}

const NOTHING: Fields = Object.freeze(Object.create(null) as Fields);

/** A section, without what every object inherits: a field may be called `constructor`. */
const sectionOf = (diff: Fields, key: string): Fields =>
  diff[key] === undefined ? NOTHING : Object.assign(Object.create(null) as Fields, diff[key]);

function nestedIn(diff: Fields): ReadonlyMap<string, Fields> {
  const nested = new Map<string, Fields>();
  for (const [key, value] of Object.entries(diff)) {
    if (key.startsWith('s')) nested.set(key.slice(1), value as Fields);
    else if (!['d', 'u', 'i'].includes(key)) throw new Error(`unknown part of a difference: ${key}`);
  }
  return nested;
}
