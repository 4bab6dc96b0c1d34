import { runInNewContext } from 'node:vm';
import type { Document } from 'mongodb';

import { markedBlock } from '../docs/pages.js';

interface Privilege {
  readonly resource: Document;
  readonly actions: readonly string[];
}

/** The privileges of the role in docs/operations.md, on this database, without one of its actions. */
export function printedPrivileges(db: string, without?: string): readonly Privilege[] {
  const { code } = markedBlock('docs/operations.md', 'privileges');
  const createRole = (role: { privileges: readonly Privilege[] }): readonly Privilege[] => role.privileges;
  const privileges = runInNewContext(code, { db: { createRole } }) as readonly Privilege[];
  return privileges.map(({ resource, actions }) => ({
    resource: { ...resource, db },
    actions: actions.filter((action) => action !== without),
  }));
}
