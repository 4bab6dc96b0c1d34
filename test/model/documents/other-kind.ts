import { Long } from 'mongodb';

import type { Lease, LockKind } from '../../../src/protocol/lock-document.js';
import type { StoredDocument } from './lock-document-driver.js';
import { KINDS } from './lock-kinds.js';
import type { TestedKind } from './lock-kinds.js';
import { toStored } from '../reference/model-views.js';
import type { Stored } from '../reference/reference-model.js';
import type { ModelKind } from '../reference/model-kind.js';

type Model = Extract<Stored, { readonly type: 'other-kind' }>;

/** A well-formed lock of another kind, with a few leases that belong to no client of the history. */
export interface OtherKind {
  readonly kind: LockKind;
  readonly leases: number;
  stored(name: string, model: Model): StoredDocument;
}

/** One of the other kinds. */
export function otherKind(own: TestedKind, which: number): OtherKind {
  const others = KINDS.filter(({ model }) => model !== own.model);
  const { model } = others[which % others.length] ?? own;
  const leases = model.kind === 'mutex' || model.kind === 'election' ? 1 : 2;
  return { kind: model.kind, leases, stored: (name, state) => document(model, name, state) };
}

function document(kind: ModelKind, name: string, model: Model): StoredDocument {
  const { fence, wake, purgeAt, expiries, claims, calls } = model;
  const demanded = kind.demanded({
    ...{ id: '', process: '', leaseMs: 0, notAfter: purgeAt, maxMembers: 0, retentionMs: 0 },
  });
  const leases = expiries.map((expiresAt, index): Lease => {
    const id = `x${index}`;
    return {
      id,
      process: 'p',
      token: index + 1,
      leaseMs: 1_000,
      acquiredAt: new Date(0),
      expiresAt,
      ...demanded,
    };
  });
  const stored = toStored(kind, name, { fence, leases, limit: 3, queue: [], wake, purgeAt, claims, calls });
  return { ...stored, _id: name };
}

/** The document with its tokens as longs, as they are really stored. */
export const withLongs = (stored: StoredDocument): StoredDocument => longs(stored) as StoredDocument;

function longs(value: unknown, field = ''): unknown {
  if (typeof value === 'number')
    return field === 'fence' || field === 'token' ? Long.fromNumber(value) : value;
  if (Array.isArray(value)) return value.map((each) => longs(each));
  if (value === null || typeof value !== 'object' || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, longs(each, key)]));
}
