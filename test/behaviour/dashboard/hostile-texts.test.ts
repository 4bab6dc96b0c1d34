// Every text that any process may store is shown as text on the page: in the rows, in the details and in the notice.
import { describe, expect, it } from 'vitest';

import { chromiumPath } from '../../../lab/browser.js';
import { eventually, later } from '../../../lab/patience.js';
import { asItIs, HOSTILE } from '../../support/hostile-texts.js';
import type { Hostile } from '../../support/hostile-texts.js';
import { keepHold } from '../../support/keep-hold.js';
import { ownDatabase } from '../../support/test-provider.js';
import { World } from './dashboard-world.js';
import { useBrowser } from '../../support/use-browser.js';
import { viewPage } from './viewed-page.js';
import type { ViewedPage } from './viewed-page.js';

const WIDTHS = [400, 1_280, 3_840];

const TEXTS: readonly Hostile[] = [
  ...HOSTILE,
  { kind: 'blanks around it', text: ' a ', shown: String.raw`\u{20}a\u{20}` },
  { kind: 'the character 0', text: 'a\u0000z', shown: String.raw`a\u{0}z` },
  asItIs(
    'markup',
    '<img src=x onerror="globalThis.ran=1"><svg onload="globalThis.ran=1"></svg><script>ran=1</script>',
  ),
  asItIs('the end of an element', '</bdi></td></table></script><script>globalThis.ran=1</script>'),
  asItIs(
    'the end of an attribute',
    `x' onfocus='globalThis.ran=1' " onfocus="globalThis.ran=1" autofocus tabindex=0 x="`,
  ),
  asItIs('entities and addresses', '&lt;b&gt; &#60;i&#62; javascript:globalThis.ran=1 ${ran=1} {{ran=1}}'),
  asItIs('1,024 bytes of wide characters', '\u{1f512}'.repeat(256)),
  asItIs('1,024 bytes from right to left', '\u05d0'.repeat(512)),
];

/** The elements that the lists and the notice consist of. None of them loads or runs anything. */
const ELEMENTS =
  'bdi button code dd div dl dt form h2 h3 input label li ol p pre section span table tbody td th thead tr'.split(
    ' ',
  );

interface Content {
  readonly tags: readonly string[];
  readonly attributes: readonly (readonly [name: string, value: string])[];
  readonly texts: readonly string[];
}

/** What the lists and the notice consist of, without the blanks between elements of the HTML. */
const CONTENT = `(() => {
  const all = ['.lists', '#notice'].flatMap((root) => [...document.querySelectorAll(root + ' *')]);
  const texts = all.flatMap(({ childNodes }) => [...childNodes].filter(({ nodeType }) => nodeType !== 1));
  return {
    tags: [...new Set(all.map(({ localName }) => localName))].sort(),
    attributes: all.flatMap(({ attributes }) => [...attributes].map(({ name, value }) => [name, value])),
    texts: texts.map(({ data }) => data).filter((data) => !/^[\\n ]*$/.test(data)),
  };
})()`;

/**
 * How far the page is wider than the window, and what of the page is wider than its list or than the box of its details.
 * The styles of a list keep what is too wide from the width of the page, so that width alone shows little.
 */
const TOO_WIDE = `(() => {
  const overhang = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const beyond = (outer, inner) => [...document.querySelectorAll(outer)].flatMap((box) => {
    const { left, right } = box.getBoundingClientRect();
    return [...box.querySelectorAll(inner)].flatMap((element) => {
      const own = element.getBoundingClientRect();
      const isInside = own.width === 0 || (own.left >= left - 1 && own.right <= right + 1);
      return isInside ? [] : [element.localName + '.' + element.className + ' ' + own.left + ' ' + own.right];
    });
  });
  const own = [...document.querySelectorAll('section, tr.details td')].flatMap((box) =>
    box.scrollWidth > box.clientWidth ? [box.localName + ' ' + box.scrollWidth + ' ' + box.clientWidth] : []);
  return [overhang, beyond('section', 'table, tr, td, th'), beyond('tr.details td', '*'), own];
})()`;

const HOSTILE_CHARACTER = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;

const open = async ({ page }: ViewedPage, list: string): Promise<void> => {
  await page.locator(`#${list} tr.row button.name`).click();
  await page.locator(`#${list} tr.details`).waitFor();
};

describe.skipIf(chromiumPath === undefined)('the page of the dashboard', () => {
  const browser = useBrowser();

  it.each(TEXTS)(
    'shows $kind as text in labels, reasons, candidate ids, leader values and the names of elections and jobs',
    async ({ text, shown }) => {
      const database = ownDatabase();
      const { locks } = await database.connected({ label: text });
      const held = await keepHold(locks.acquireMutex('lock', { why: text }));
      void later(locks.acquireMutex('lock', { why: text })).catch(() => undefined);
      const election = locks.createLeaderElection(text, { candidateId: text, value: text });
      const run = (): void => undefined;
      await locks.createScheduledJob(text, { election, everyMs: 3_600_000, initialDelayMs: 0, run }).start();
      await election.start();
      const standby = await database.connected({ label: text });
      await standby.locks.createLeaderElection(text, { candidateId: text, value: text }).start();
      const viewer = await viewPage(browser(), (await database.connected()).locks, { allowRevoke: true });
      const { page } = viewer;
      const textOf = async (selector: string): Promise<string> => {
        const found = page.locator(selector);
        return (await found.count()) === 1
          ? ((await found.textContent()) ?? '')
          : `${await found.count()} of it`;
      };
      await eventually('all of it is shown', async (see) => {
        const rows = see(await page.locator('tr.row').allTextContents());
        const queues = see(await page.locator('tr.row td.queue').allTextContents());
        const outcome = see(await page.locator('#jobs td.outcome').allTextContents());
        return rows.length === 3 && queues.join() === '1,1' && outcome.join().startsWith('completed');
      });
      for (const list of ['locks', 'elections', 'jobs']) await open(viewer, list);
      await viewer.untilSettled();
      const partOf = async (list: string, selector: string): Promise<string> =>
        await textOf(`#${list} ${selector}`);
      const termOf = async (list: string, term: string): Promise<string> =>
        await textOf(`#${list} .terms div:has(dt:text-is("${term}")) dd`);
      expect({
        label: await partOf('locks', 'td.holder .who'),
        why: await partOf('locks', 'td.holder .why'),
        leader: await partOf('elections', 'td.holder .who'),
        election: await partOf('elections', 'td.name bdi'),
        job: await partOf('jobs', 'td.name bdi'),
        details: {
          label: await termOf('locks', 'Holder'),
          why: await termOf('locks', 'Why'),
          waiter: await partOf('locks', '.places .who'),
          waiterWhy: await partOf('locks', '.places .why'),
          leader: await termOf('elections', 'Holder'),
          value: await termOf('elections', 'Value'),
          standby: await partOf('elections', '.places .who'),
          election: await partOf('elections', 'p.whole'),
          job: await partOf('jobs', 'p.whole'),
          electionOfJob: await partOf('jobs', 'p:has-text("Election") bdi'),
          lastRunBy: await partOf('jobs', 'p:has-text("Last run by") bdi'),
        },
      }).toEqual({
        ...{ label: shown, why: shown, leader: shown, election: shown, job: shown },
        details: {
          ...{ label: shown, why: shown, waiter: shown, waiterWhy: shown, leader: shown, value: shown },
          ...{ standby: shown, election: shown, job: shown, electionOfJob: shown, lastRunBy: shown },
        },
      });
      await page.locator('#locks button.revoke').click();
      await eventually('the holder hears it', () => held.releaseRequested.aborted);
      await eventually('the notice names the holder', async (see) =>
        see(await textOf('#notice')).startsWith(`lock, ${shown}: `),
      );
      const { tags, attributes, texts } = await page.evaluate<Content>(CONTENT);
      expect(tags.filter((tag) => !ELEMENTS.includes(tag))).toEqual([]);
      expect(attributes.filter(([name]) => /^(on|src|href|style|autofocus|tabindex)/.test(name))).toEqual([]);
      const all = [...texts, ...attributes.map(([, value]) => value)];
      expect(all.filter((each) => HOSTILE_CHARACTER.test(each))).toEqual([]);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        expect([width, await page.evaluate(TOO_WIDE)]).toEqual([width, [0, [], [], []]]);
      }
      expect(await page.evaluate('globalThis.ran')).toBe(undefined);
      expect(viewer.complaints).toEqual([]);
    },
  );

  it.each(WIDTHS)(
    'wraps the holder of 1,024 bytes in the notice at %i px, and its button can be seen',
    async (width) => {
      const world = new World();
      await keepHold(world.process({ label: 'x'.repeat(1_024) }).acquireMutex('lock'));
      const viewport = { width, height: 900 };
      const viewer = await viewPage(browser(), world.locks, { allowRevoke: true }, { viewport });
      const { page } = viewer;
      await viewer.untilNames((names) => names.join() === 'lock');
      await open(viewer, 'locks');
      await viewer.untilSettled();
      await page.locator('button.revoke').click();
      const dismiss = page.getByRole('button', { name: 'Dismiss' });
      await dismiss.waitFor();
      const { x = 0, width: own = 0 } = (await dismiss.boundingBox()) ?? {};
      expect(x + own).toBeLessThanOrEqual(width);
      const notice = `document.querySelector('#notice')`;
      expect(await page.evaluate(`${notice}.scrollWidth - ${notice}.clientWidth`)).toBe(0);
      expect(viewer.complaints).toEqual([]);
    },
  );
});
