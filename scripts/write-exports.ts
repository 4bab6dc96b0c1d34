// `npm run exports`: writes the fields of package.json that follow from the list of entries.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { entryFields } from './entries.js';

const path = fileURLToPath(new URL('../package.json', import.meta.url));
const manifest = JSON.parse(readFileSync(path, 'utf8')) as object;
writeFileSync(path, `${JSON.stringify({ ...manifest, ...entryFields() }, null, 2)}\n`);
