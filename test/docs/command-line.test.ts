import { expect, it } from 'vitest';

import { commandLinePage } from '../../scripts/command-line-page.js';

it('docs/command-line.md is made from the definitions of the commands', async () => {
  await expect(await commandLinePage()).toMatchFileSnapshot('../../docs/command-line.md');
});
