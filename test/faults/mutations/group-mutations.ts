import type { Mutation } from './mutation.js';

/** Bugs in how operations on different locks go to the server together, and in what their group's answer means. */
export const GROUP_MUTATIONS: readonly Mutation[] = [
  {
    name: 'short-count-confirms',
    breaks: 'a release in a group counts as done although the count of the group is short',
    edits: [
      {
        file: 'store/updates/committer.ts',
        find: 'if (areAllApplied && counted !== undefined)',
        replace: 'if ((areAllApplied || updated.value.count > 0) && counted !== undefined)',
      },
    ],
    trial: 'new names, strictly',
  },
  {
    name: 'matched-counts-as-changed',
    breaks: 'the count of a group has every document that a statement found, changed or not',
    edits: [
      {
        file: 'store/lock-collection.ts',
        find: 'const count = nModified + created.length;',
        replace: "const count = Math.max(Number(outcome.value['n']), nModified + created.length);",
      },
    ],
    trial: 'new names, strictly',
  },
  {
    name: 'any-lease-confirms',
    breaks: 'the lease of another request confirms a request of a group',
    edits: [
      {
        file: 'protocol/pipeline/fast-path.ts',
        find: '(own, nowMs) => own.id === id && own.expiresAt.getTime() > nowMs),',
        replace: '(own, nowMs) => own.expiresAt.getTime() > nowMs && Object.assign(own, { id }) === own),',
      },
    ],
    trial: 'new names',
  },
  {
    name: 'held-lock-made-vacant',
    breaks: 'the stage for a lock that was never seen also makes a vacant lock of a held one',
    edits: [
      {
        file: 'protocol/pipeline/fast-path.ts',
        find: "return { $replaceWith: when(IS_NEW, vacant, '$$ROOT') };",
        replace: 'return { $replaceWith: vacant };',
      },
    ],
    trial: 'new names',
  },
  {
    name: 'creation-empties-a-lock',
    breaks: 'the creation of a lock in a group makes a vacant lock of a stored one',
    edits: [
      {
        file: 'store/updates/group-updates.ts',
        find: 'update: { $setOnInsert: vacantDocument(rules, operation) }',
        replace: 'update: { $set: vacantDocument(rules, operation) } as never',
      },
    ],
    trial: 'new names',
  },
  {
    name: 'group-gives-anothers-lease',
    breaks: 'every lock of a group gets the lease of the first request',
    edits: [
      {
        file: 'protocol/pipeline/entering-together.ts',
        find: "{ $indexOfArray: [literal(names), '$_id'] }",
        replace: '0',
      },
    ],
    trial: 'new names, strictly',
  },
  {
    name: 'group-reply-lost-is-failure',
    breaks: 'the operations of a group without an answer count as never sent',
    edits: [
      {
        file: 'store/updates/committer.ts',
        find: ': failureOfGroup(updated)',
        replace: ': { ...updated, maybeApplied: false }',
      },
    ],
    trial: 'new names, lost replies',
  },
  {
    name: 'group-cut-off-is-done',
    breaks: 'the releases of a group without an answer count as done',
    edits: [
      {
        file: 'store/updates/committer.ts',
        find: "      const isRefused = updated.type === 'refused' && updated.byServer;\n",
        replace:
          "      const isRefused = updated.type === 'refused' && updated.byServer;\n" +
          '      const sentAt = { ms: this.#clock.nowMs(), wallAheadMs: 0 };\n' +
          '      for (const { path, settle } of sent)\n' +
          "        if (path.counted !== undefined) settle({ type: 'done', value: path.counted, sentAt });\n",
      },
    ],
    trial: 'new names, short cuts',
  },
  {
    name: 'group-write-concern-ignored',
    breaks: 'a group counts as applied although no majority has acknowledged it',
    edits: [
      {
        file: 'store/store-calls.ts',
        find: '  if (writeConcernError !== undefined) {',
        replace: '  if (writeConcernError !== undefined && !mayFailInPart) {',
      },
      {
        file: 'store/store-calls.ts',
        find: 'const value = await Promise.race([running, end.unanswered])',
        replace:
          'const value = await Promise.race([running.catch((error: { result?: Document }) => {\n' +
          "          if (mayFailInPart && error.result?.['writeConcernError'] !== undefined) return error.result;\n" +
          '          throw error;\n' +
          '        }), end.unanswered])',
      },
    ],
    trial: 'new names, an isolated primary',
  },
  {
    name: 'sent-and-taken-back',
    breaks: 'a request that has gone with a group counts as taken back',
    edits: [
      {
        file: 'store/updates/committer.ts',
        find: '      if (!queue.delete(statement)) return false;\n',
        replace: '      queue.delete(statement);\n',
      },
    ],
    trial: 'new names, strictly',
  },
];
