// Builds the site of the documentation into .cache/site. It asks no server. For a site that is not at the root of its
// server: npm run docs -- --base /leasehold/
import { Command } from 'commander';
import { build } from 'vitepress';

import { writeReference } from './reference.js';

const { base } = new Command()
  .option('--base <path>', 'where the site is on its server, with a slash at both ends', '/')
  .parse()
  .opts<{ readonly base: string }>();

await writeReference();
await build('docs', { base });
console.log('leasehold: the site is in .cache/site. It needs a server: npm run docs:open');
