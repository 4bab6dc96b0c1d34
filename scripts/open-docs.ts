// Serves the built site on 127.0.0.1 until it is interrupted. The pages load modules, which a browser refuses to load
// from the disk, so the site needs a server.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { serveFolder } from '../lab/static-server.js';

const site = fileURLToPath(new URL('../.cache/site', import.meta.url));

if (!existsSync(join(site, 'index.html'))) {
  console.error('leasehold: there is no site yet; build it by: npm run docs');
  process.exit(1);
}
const { url } = await serveFolder(site);
console.log(`leasehold: the documentation is at ${url}/ until Ctrl+C`);
