import { existsSync } from 'node:fs';

import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';

import { BUSY_MACHINE_MS } from './patience.js';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** An installed Chromium; undefined if there is none. Nothing is downloaded. */
export const chromiumPath: string | undefined = PLACES.find(existsSync);

/**
 * A browser with a fresh profile that sends nothing of its own. As root it runs only without its sandbox. A call to
 * one of its pages waits as long as `eventually` does.
 */
export async function startBrowser(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error(`no Chromium at ${PLACES.join(', ')}`);
  const browser = await chromium.launch({
    executablePath: chromiumPath,
    timeout: BUSY_MACHINE_MS,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ],
  });
  browser.on('context', (context) => {
    context.setDefaultTimeout(BUSY_MACHINE_MS);
  });
  return browser;
}
