import { defineConfig } from 'vitepress';

import { writeTextsForModels } from './llms.js';
import { markdown } from './markdown.js';
import { REPOSITORY } from './repository.js';
import { sidebar } from './sidebar.js';

const DESCRIPTION =
  'Distributed locks for Node.js, kept in the MongoDB you already have: fair, woken by the server, fenced.';

/** In the page itself: VitePress does not put the base before addresses in the head. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M5 7V5a3 3 0 0 1 6 0v2" fill="none" stroke="#0f6b78" stroke-width="2"/><rect x="3" y="7" width="10" height="7" rx="2" fill="#0f6b78"/></svg>',
)}`;

export default defineConfig({
  lang: 'en',
  title: 'leasehold',
  description: DESCRIPTION,
  // A static server needs no rule for names without an ending.
  cleanUrls: false,
  outDir: '../.cache/site',
  cacheDir: '../.cache/vitepress',
  markdown,
  head: [['link', { rel: 'icon', href: ICON }]],
  // Mermaid is one large module; only pages with a diagram load it.
  vite: { build: { chunkSizeWarningLimit: 2_000 } },
  themeConfig: {
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Guides', link: '/mutex' },
      { text: 'How it works', link: '/guarantees' },
      { text: 'Reference', link: '/api/' },
    ],
    sidebar: sidebar(),
    outline: { level: [2, 3] },
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    externalLinkIcon: true,
    footer: { message: `<a href="${REPOSITORY}/blob/main/LICENSE">Apache-2.0</a>` },
  },
  buildEnd: writeTextsForModels,
});
