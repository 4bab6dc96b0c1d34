import { versionOf as parse } from '../../../src/testing/judge/lock-version.js';
import type { Version } from '../../../src/testing/judge/lock-version.js';
import type { Change } from '../../judge/oplog-entry.js';

const parsed = new WeakMap<object, Version>();

/** Several judges look at each version. The same document is parsed once. */
export function versionOf(stored: Change['after']): Version {
  if (stored === null) return parse(null);
  const known = parsed.get(stored) ?? parse(stored);
  parsed.set(stored, known);
  return known;
}
