// What the page says when its server answers, but not with events.
import { describe, expect, it } from 'vitest';

import { chromiumPath } from '../../../lab/browser.js';
import { eventually } from '../../../lab/patience.js';
import { dashboard } from '../../../src/dashboard/index.js';
import { World } from './dashboard-world.js';
import { useBrowser } from '../../support/use-browser.js';
import { viewPage } from './viewed-page.js';

describe.skipIf(chromiumPath === undefined)('the page of a dashboard whose server refuses its events', () => {
  const browser = useBrowser();

  it('says that it is not authorized, and asks no more', async () => {
    const world = new World();
    const viewer = await viewPage(browser(), world.locks);
    await viewer.untilState('live');
    let asked = 0;
    await viewer.serveInstead(
      dashboard(world.locks, {
        authorize: () => {
          asked += 1;
          return false;
        },
      }),
    );
    await viewer.untilState('refused: not authorized; reload the page to try again');
    await eventually('a screen reader is told', async (see) =>
      (see(await viewer.page.locator('#summary').textContent()) ?? '').startsWith('refused: not authorized'),
    );
    expect(asked).toBe(2);
    await viewer.page.clock.fastForward(60_000);
    // This request comes after any that the page makes, and is the only one.
    await viewer.page.evaluate(`fetch('events')`);
    expect(asked).toBe(3);
  });

  it('says that the session may be over if it is led to another page', async () => {
    const world = new World();
    const viewer = await viewPage(browser(), world.locks);
    await viewer.untilState('live');
    const answer = ({ url }: Request): Response =>
      new URL(url).pathname === '/login'
        ? new Response('<p>Log in</p>', { headers: { 'content-type': 'text/html' } })
        : new Response(null, { status: 302, headers: { location: '/login' } });
    await viewer.serveInstead((request) => Promise.resolve(answer(request)));
    await viewer.untilState('refused: the session may be over; reload the page to try again');
  });

  it('says that there are too many viewers, and goes on when there is room', async () => {
    const world = new World();
    const viewer = await viewPage(browser(), world.locks);
    await viewer.untilState('live');
    const full = new Response('there are too many viewers\n', {
      ...{ status: 503, headers: { 'content-type': 'text/plain; charset=utf-8' } },
    });
    let isFull = true;
    await viewer.serveInstead(async (request) => (isFull ? full.clone() : await viewer.handler(request)));
    await viewer.untilState('unavailable: there are too many viewers');
    isFull = false;
    await viewer.untilState('live');
  });
});
