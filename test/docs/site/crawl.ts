import type { Browser, Page } from 'playwright-core';

/** A width in px and a colour scheme in which the site is looked at. */
export interface Look {
  readonly width: number;
  readonly scheme: 'light' | 'dark';
  /** Whether this look loads the page. It follows no link to a page that it does not load. */
  readonly shows: (path: string) => boolean;
}

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
  readonly headings: number;
}

const SEEN = `({
  links: [...document.querySelectorAll('a[href]')].map((link) => link.href),
  ids: [...document.querySelectorAll('[id]')].map(({ id }) => id),
  diagrams: document.querySelectorAll('div.diagram svg').length,
  brokenImages: [...document.images].filter((image) => image.naturalWidth === 0 || !image.hasAttribute('alt')).map(({ src }) => src),
  headings: document.querySelectorAll('h1').length,
})`;

/** How many px the page is wider than the window. */
const OVERHANG = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

const IS_DARK = `document.documentElement.classList.contains('dark')`;

const IS_WHOLE = `document.querySelector('pre.diagram') === null && [...document.images].every(({ complete }) => complete)`;

/** Follows a link of the page that is open, as a click does: VitePress shows the other page without loading a document. */
const followLink = (path: string): string => `(() => {
  const link = document.createElement('a');
  link.href = ${JSON.stringify(path)};
  document.body.append(link);
  link.click();
  link.remove();
})()`;

/** The title in the file of a page, as the browser reads it. */
const titleOf = (path: string): string =>
  `fetch(${JSON.stringify(path)}).then((it) => it.text()).then((text) => new DOMParser().parseFromString(text, 'text/html').title)`;

const pathOf = (link: string): string => new URL(link).pathname.replace(/\/index\.html$/, '/');

/** Follows every link of the site from its landing page to what this look shows. Each page is loaded anew. */
export async function crawl(browser: Browser, url: string, look: Look): Promise<Crawled> {
  const complaints: string[] = [];
  const page = await newPage(browser, url, look, complaints);
  const ids = new Map<string, ReadonlySet<string>>();
  const anchors: { readonly from: string; readonly path: string; readonly anchor: string }[] = [];
  const open = ['/'];
  let diagrams = 0;
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (ids.has(path)) continue;
    const seen = await load(page, url + path, look, complaints);
    ids.set(path, new Set(seen.ids));
    diagrams += seen.diagrams;
    const followed = seen.links.filter((each) => new URL(each).origin === url && look.shows(pathOf(each)));
    for (const link of followed) {
      const anchor = decodeURIComponent(new URL(link).hash.slice(1));
      if (anchor !== '') anchors.push({ from: path, path: pathOf(link), anchor });
      open.push(pathOf(link));
    }
  }
  await page.context().close();
  for (const { from, path, anchor } of anchors) {
    if (!ids.get(path)?.has(anchor)) complaints.push(`${from}: no anchor ${anchor} at ${path}`);
  }
  return { visited: [...ids.keys()], diagrams, complaints: [...new Set(complaints)] };
}

/** Goes to each of these pages by a link, without loading a document. Returns what is wrong. */
export async function walk(
  browser: Browser,
  url: string,
  paths: readonly string[],
): Promise<readonly string[]> {
  const complaints: string[] = [];
  const page = await newPage(browser, url, { width: 1_280, scheme: 'light' }, complaints);
  await page.goto(`${url}/`);
  for (const path of paths) {
    const title: string = await page.evaluate(titleOf(path));
    await page.evaluate(followLink(path));
    // waitForFunction takes the promise of an asynchronous condition for true.
    const isShown = `location.pathname === ${JSON.stringify(path)} && document.title === ${JSON.stringify(title)}`;
    await page.waitForFunction(`${isShown} && ${IS_WHOLE}`).catch((error: unknown) => {
      throw new Error(`a link to ${path} does not show “${title}”`, { cause: error });
    });
    const seen: Seen = await page.evaluate(SEEN);
    complainAboutContent(seen, `${path}, by a link`, complaints);
  }
  await page.context().close();
  return [...new Set(complaints)];
}

async function newPage(
  browser: Browser,
  url: string,
  { width, scheme }: Pick<Look, 'width' | 'scheme'>,
  complaints: string[],
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
  const page = await context.newPage();
  complainAbout(page, url, (what) => complaints.push(`${new URL(page.url()).pathname}: ${what}`));
  return page;
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

async function load(
  page: Page,
  address: string,
  { width, scheme }: Look,
  complaints: string[],
): Promise<Seen> {
  await page.goto(address);
  await page.waitForFunction(IS_WHOLE);
  const path = pathOf(address);
  const seen: Seen = await page.evaluate(SEEN);
  complainAboutContent(seen, path, complaints);
  if ((await page.evaluate(IS_DARK)) !== (scheme === 'dark')) complaints.push(`${path}: not ${scheme}`);
  const overhang: number = await page.evaluate(OVERHANG);
  if (overhang > 0) complaints.push(`${path}: ${overhang} px too wide at ${width} px`);
  return seen;
}

function complainAboutContent({ headings, brokenImages }: Seen, where: string, complaints: string[]): void {
  if (headings !== 1) complaints.push(`${where}: ${headings} first headings`);
  for (const image of brokenImages) complaints.push(`${where}: the image ${image} is broken or has no text`);
}
