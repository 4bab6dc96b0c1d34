import { defineConfig } from 'vitepress';

import { writeTextsForModels } from './llms.js';
import { markdown } from './markdown.js';
import { REPOSITORY } from './repository.js';
import { sidebar } from './sidebar.js';

const DESCRIPTION =
  'Distributed locks for Node.js, kept in the MongoDB you already have: fair, woken by the server, fenced.';

export default defineConfig({
  lang: 'en',
  title: 'leasehold',
  description: DESCRIPTION,
  // A static server needs no rule for names without an ending.
  cleanUrls: false,
  outDir: '../.cache/site',
  cacheDir: '../.cache/vitepress',
  markdown,
  head: [['meta', { name: 'theme-color', content: '#0f5c66' }]],
  // Mermaid is one large module; only pages with a diagram load it.
  vite: { build: { chunkSizeWarningLimit: 2_000 } },
  themeConfig: {
    nav: [
      { text: 'Start', link: '/installation' },
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
