import { Long, Timestamp } from 'mongodb';
import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';

import { thrown } from '../../lab/patience.js';
import type { Change, OplogEntry, OplogOperation } from './oplog-entry.js';
import { ReplayedCollections } from './replayed-collections.js';

const OWN = 'app.locks';

const insert = (_id: string, ns = OWN): OplogOperation => ({
  op: 'i',
  ns,
  o: { _id, fence: Long.fromNumber(7) },
});
const command = (o: Document): OplogOperation => ({ op: 'c', ns: 'app.$cmd', o });
const together = (operations: readonly OplogOperation[], more: Document = {}): OplogOperation => ({
  ...{ op: 'c', ns: 'admin.$cmd' },
  o: { applyOps: operations, ...more },
});

/** An entry, in the transaction with this number. */
const entry = (operation: OplogOperation, txnNumber = 0): OplogEntry => ({
  ...{ ts: new Timestamp({ t: 1, i: 1 }), t: Long.fromNumber(3), wall: new Date(5_000) },
  ...{ lsid: { id: 'session' }, txnNumber },
  ...operation,
});

function replayed(entries: readonly OplogEntry[], renames: readonly Document[] = []): readonly Change[] {
  const changes: Change[] = [];
  const collections = new ReplayedCollections(OWN, renames, (change) => changes.push(change));
  for (const one of entries) collections.apply(one);
  return changes;
}

const namesOf = (changes: readonly Change[]): readonly string[] =>
  changes.map(({ name, after }) => (after === null ? `${name} gone` : name));

describe('entries of an oplog', () => {
  it('are reported with their term and their time, and with numbers as the library reads them', () => {
    expect(replayed([entry(insert('a'))])).toMatchObject([
      { name: 'a', before: null, after: { _id: 'a', fence: 7 }, term: 3, wallMs: 5_000 },
    ]);
  });

  it('count once the last entry of their transaction is there, and not at all if it is aborted', () => {
    const changes = replayed([
      entry(together([insert('a'), insert('b')], { partialTxn: true }), 1),
      entry(together([insert('x')], { partialTxn: true }), 2),
      entry(insert('first')),
      entry(together([insert('c')], { partialTxn: true }), 1),
      entry({ op: 'c', ns: 'admin.$cmd', o: { abortTransaction: 1 } }, 2),
      entry(together([{ op: 'd', ns: OWN, o: { _id: 'b' } }]), 1),
    ]);
    expect(namesOf(changes)).toEqual(['first', 'a', 'b', 'c', 'b gone']);
  });

  it('are applied in their order if they are nested', () => {
    const inner = together([insert('b'), insert('c')]);
    expect(namesOf(replayed([entry(together([insert('a'), inner, insert('d')]))]))).toEqual([
      'a',
      'b',
      'c',
      'd',
    ]);
  });

  it('count for another collection only if it is renamed into the replayed one', () => {
    const rename = { renameCollection: 'app.other', to: OWN, dropTarget: true };
    const entries = [entry(insert('a')), entry(insert('b', 'app.other')), entry(insert('c', 'app.more'))];
    expect(namesOf(replayed(entries))).toEqual(['a']);
    expect(namesOf(replayed([...entries, entry(command(rename))], [rename]))).toEqual(['a', 'a gone', 'b']);
  });

  it('end every document if they drop the collection or its database', () => {
    const both = [entry(insert('a')), entry(insert('b'))];
    for (const end of [{ drop: 'locks' }, { dropDatabase: 1 }]) {
      expect(namesOf(replayed([...both, entry(command(end))]))).toEqual(['a', 'b', 'a gone', 'b gone']);
    }
    expect(namesOf(replayed([...both, entry(command({ drop: 'others' }))]))).toEqual(['a', 'b']);
  });

  it('are refused if they are of an unknown form', () => {
    const difference = (o: Document): OplogOperation => ({ op: 'u', ns: OWN, o, o2: { _id: 'a' } });
    const strange: readonly OplogOperation[] = [
      { op: 'z', ns: OWN, o: { _id: 'a' } },
      difference({ $v: 1, $set: { a: 1 } }),
      difference({ $v: 2, diff: { x: { a: 1 } } }),
      difference({ $v: 2, diff: { sfence: { u: { a: 1 } } } }),
      together([insert('b')], { prepare: true }),
    ];
    for (const one of strange) {
      expect(String(thrown(() => replayed([entry(insert('a')), entry(one)])))).toMatch(
        /unknown|version|difference|sharded/,
      );
    }
    expect(String(thrown(() => replayed([entry(difference({ $v: 2, diff: {} }))])))).toMatch(
      /before it was there/,
    );
  });
});
