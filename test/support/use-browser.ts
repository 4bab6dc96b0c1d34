import type { Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';

import { startBrowser } from '../../lab/browser.js';

/** Starts a browser for the tests of a group. It ends after them. The returned function gives it to a test. */
export function useBrowser(): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });
  return () => {
    if (browser === undefined) throw new Error('the browser has not been started yet');
    return browser;
  };
}
