import type { Browser, Page } from 'playwright-core';

/** Widths in px and colour schemes in which each page is looked at. The first one is that in which it is loaded. */
const LOOKS = [
  { width: 1_280, scheme: 'light' },
  { width: 1_280, scheme: 'dark' },
  { width: 400, scheme: 'dark' },
  { width: 400, scheme: 'light' },
] as const;

export interface Crawled {
  /** The paths of all pages that links lead to. */
  readonly visited: readonly string[];
  readonly diagrams: number;
  /** What is wrong, each with its page. */
  readonly complaints: readonly string[];
}

/** What a page has, as the browser tells it. */
interface Seen {
  readonly links: readonly string[];
  readonly ids: readonly string[];
  readonly diagrams: number;
  readonly brokenImages: readonly string[];
  readonly titles: number;
}

const SEEN = `({
  links: [...document.querySelectorAll('a[href]')].map((link) => link.href),
  ids: [...document.querySelectorAll('[id]')].map(({ id }) => id),
  diagrams: document.querySelectorAll('div.diagram svg').length,
  brokenImages: [...document.images].filter((image) => image.naturalWidth === 0 || !image.hasAttribute('alt')).map(({ src }) => src),
  titles: document.querySelectorAll('h1').length,
})`;

/** How many px the page is wider than the window. */
const OVERHANG = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

const IS_DARK = `document.documentElement.classList.contains('dark')`;

const ALL_DRAWN = `document.querySelector('pre.diagram') === null`;

/** Follows every link of the site from its landing page, and looks at each page in each width and scheme. */
export async function crawl(browser: Browser, url: string): Promise<Crawled> {
  const page = await browser.newPage();
  const complaints: string[] = [];
  complainAbout(page, url, (what) => complaints.push(`${new URL(page.url()).pathname}: ${what}`));
  const ids = new Map<string, ReadonlySet<string>>();
  const anchors: { readonly from: string; readonly path: string; readonly anchor: string }[] = [];
  const open = ['/'];
  let diagrams = 0;
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (ids.has(path)) continue;
    const seen = await look(page, url + path, (what) => complaints.push(`${path}: ${what}`));
    ids.set(path, new Set(seen.ids));
    diagrams += seen.diagrams;
    for (const link of seen.links) {
      const { origin, pathname, hash } = new URL(link);
      if (origin !== url) continue;
      const to = pathname.replace(/\/index\.html$/, '/');
      if (hash !== '') anchors.push({ from: path, path: to, anchor: decodeURIComponent(hash.slice(1)) });
      open.push(to);
    }
  }
  await page.close();
  for (const { from, path, anchor } of anchors) {
    if (!ids.get(path)?.has(anchor)) complaints.push(`${from}: no anchor ${anchor} at ${path}`);
  }
  return { visited: [...ids.keys()], diagrams, complaints: [...new Set(complaints)] };
}

function complainAbout(page: Page, url: string, complain: (what: string) => void): void {
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complain(`console: ${message.text()}`);
  });
  page.on('pageerror', ({ message }) => {
    complain(`error: ${message}`);
  });
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${url}/`)) {
      complain(`request to ${request.url()}`);
    }
  });
  page.on('response', (response) => {
    if (response.status() >= 400) complain(`${response.status()} of ${response.url()}`);
  });
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText ?? '';
    // The browser gives up what it fetched in advance when the page changes.
    if (why !== 'net::ERR_ABORTED') complain(`${why} of ${request.url()}`);
  });
}

async function look(page: Page, address: string, complain: (what: string) => void): Promise<Seen> {
  const [first] = LOOKS;
  await page.setViewportSize({ width: first.width, height: 900 });
  await page.emulateMedia({ colorScheme: first.scheme });
  await page.goto(address);
  await page.waitForFunction(ALL_DRAWN);
  const seen: Seen = await page.evaluate(SEEN);
  if (seen.titles !== 1) complain(`${seen.titles} first headings`);
  for (const image of seen.brokenImages) complain(`the image ${image} is broken or has no text`);
  for (const { width, scheme } of LOOKS) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: scheme });
    await page.waitForFunction(`${IS_DARK} === ${scheme === 'dark'}`);
    const overhang: number = await page.evaluate(OVERHANG);
    if (overhang > 0) complain(`${overhang} px too wide at ${width} px, ${scheme}`);
  }
  return seen;
}
