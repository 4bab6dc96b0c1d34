// The rows of the page are grids, so only the roles of the elements make them a table for a screen reader.
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { chromiumPath } from '../../../lab/browser.js';
import { eventually, later } from '../../../lab/patience.js';
import { keepHold } from '../../support/keep-hold.js';
import { useBrowser } from '../../support/use-browser.js';
import { World } from './dashboard-world.js';
import { viewPage } from './viewed-page.js';
import type { ViewedPage } from './viewed-page.js';

const HEADS: Readonly<Record<string, readonly string[]>> = {
  Locks: 'Name,Kind,Held by,Held for,Time left,Waiting,First waits,Hand-overs,Lost'.split(','),
  Elections: 'Name,Leader,Leads for,Time left,Standbys'.split(','),
  Jobs: 'Job,Last,Outcome,Next,Missed'.split(','),
};

interface AxNode {
  readonly nodeId: string;
  readonly ignored: boolean;
  readonly role?: { readonly value: string };
  readonly name?: { readonly value: string };
  readonly childIds?: readonly string[];
}

/** The tree that Chromium itself gives to a screen reader. `getByRole` of Playwright reads the elements instead. */
class AccessibilityTree {
  readonly #nodes: ReadonlyMap<string, AxNode>;

  private constructor(nodes: readonly AxNode[]) {
    this.#nodes = new Map(nodes.map((node) => [node.nodeId, node]));
  }

  static async of(page: Page): Promise<AccessibilityTree> {
    const session = await page.context().newCDPSession(page);
    try {
      const { nodes } = await session.send('Accessibility.getFullAXTree');
      return new AccessibilityTree(nodes as unknown as readonly AxNode[]);
    } finally {
      await session.detach();
    }
  }

  /** The nodes of a role, in their order. */
  all(role: string, below?: AxNode): readonly AxNode[] {
    const within = below === undefined ? [...this.#nodes.values()] : this.#below(below);
    return within.filter((node) => !node.ignored && node.role?.value === role);
  }

  /** The names of the nodes of a role. */
  names(role: string, below?: AxNode): readonly string[] {
    return this.all(role, below).map(({ name }) => name?.value ?? '');
  }

  #below({ childIds = [] }: AxNode): readonly AxNode[] {
    return childIds.flatMap((id) => {
      const child = this.#nodes.get(id);
      return child === undefined ? [] : [child, ...this.#below(child)];
    });
  }
}

/** The number of cells of each row, by both trees, which have to agree. The first row has the heads. */
async function cellsOf(page: Page, tree: AccessibilityTree, title: string): Promise<readonly number[]> {
  const table = page.getByRole('table', { name: title, exact: true });
  const rows = await table.getByRole('row').all();
  const counted = await Promise.all(rows.map((row) => row.getByRole('cell').count()));
  const [own, ...others] = tree.all('table').filter(({ name }) => name?.value === title);
  expect(others).toEqual([]);
  expect(tree.all('row', own).map((row) => tree.all('cell', row).length)).toEqual(counted);
  expect(tree.names('columnheader', own)).toEqual(HEADS[title]);
  expect(await table.getByRole('columnheader').allTextContents()).toEqual(HEADS[title]);
  return counted;
}

describe.skipIf(chromiumPath === undefined)('to a screen reader, the page of the dashboard', () => {
  const browser = useBrowser();

  it('has a table for each list that is not empty, with each head, row and cell that is shown, at 1,280 and 400 px', async () => {
    const world = new World();
    const [a, b] = [world.process({ label: 'a' }), world.process({ label: 'b' })];
    await keepHold(a.acquireMutex('contended'));
    void later(b.acquireMutex('contended')).catch(() => undefined);
    await keepHold(a.acquireMutex('held'));
    await (await a.acquireMutex('free')).release();
    const viewer = await viewPage(browser(), world.locks);
    const { page } = viewer;
    await viewer.untilNames((names) => names.join() === 'contended,held,free');
    await eventually(
      'the ages are shown',
      async () => (await viewer.cells('contended'))['First waits'] !== '',
    );
    expect(await page.getByRole('table').count()).toBe(1);
    const election = a.createLeaderElection('vote');
    const job = { election, everyMs: 3_600_000, initialDelayMs: 0, run: () => undefined };
    await a.createScheduledJob('job', job).start();
    await election.start();
    await eventually('the job has run', async (see) =>
      see(await page.locator('td.outcome').allTextContents())
        .join()
        .startsWith('completed'),
    );
    const counts = async (): Promise<object> => {
      const tree = await AccessibilityTree.of(page);
      const lists = Object.keys(HEADS).map((title) => cellsOf(page, tree, title));
      const [locks, elections, jobs] = await Promise.all(lists);
      expect(tree.names('table')).toEqual(Object.keys(HEADS));
      return { tables: await page.getByRole('table').count(), locks, elections, jobs };
    };
    expect(await counts()).toEqual({ tables: 3, locks: [0, 9, 9, 9], elections: [0, 5], jobs: [0, 5] });
    // A card leaves out the figures that are none.
    await page.setViewportSize({ width: 400, height: 900 });
    expect(await counts()).toEqual({ tables: 3, locks: [0, 7, 5, 3], elections: [0, 4], jobs: [0, 4] });
    await viewer.open('held');
    await page.locator('tr.details').waitFor();
    expect(await counts()).toMatchObject({ locks: [0, 7, 5, 1, 3] });
    expect(viewer.complaints).toEqual([]);
  });

  it.each([1_280, 400])(
    'has the rows below the window at %i px, and the arrow keys reach them',
    async (width) => {
      const world = new World();
      const locks = world.process({ label: 'a' });
      const given = Array.from({ length: 60 }, (_, at) => `lock ${String(at)}`);
      for (const name of given) await keepHold(locks.acquireMutex(name));
      const viewer = await viewPage(browser(), world.locks, {}, { viewport: { width, height: 900 } });
      const { page } = viewer;
      await viewer.untilNames((names) => names.length === 60);
      const names = await viewer.names();
      // A card leaves out the figures that are none.
      const shown = width === 400 ? 5 : 9;
      const whole = await AccessibilityTree.of(page);
      expect(whole.names('button')).toEqual(names);
      const rows = whole.all('row').slice(1);
      expect(rows.map((row) => whole.all('cell', row).length)).toEqual(names.map(() => shown));
      const reached: string[] = [];
      while (reached.length < names.length) {
        await page.keyboard.press('ArrowDown');
        reached.push(await focusedInWindow(viewer));
      }
      expect(reached).toEqual(names);
      expect(viewer.complaints).toEqual([]);
    },
  );
});

/** The name of the row that has the focus, if all of it is in the window. */
async function focusedInWindow({ page }: ViewedPage): Promise<string> {
  return await page.evaluate<string>(`(() => {
    const { textContent } = document.activeElement;
    const { top, bottom, height } = document.activeElement.getBoundingClientRect();
    const isWhole = height > 0 && top >= -1 && bottom <= innerHeight + 1;
    return isWhole ? textContent : textContent + ' at ' + top + ' to ' + bottom;
  })()`);
}
