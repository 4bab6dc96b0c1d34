import { expect, it } from 'vitest';

import { dashboardPage } from '../../../scripts/dashboard-page.js';

it('the page in src/dashboard/page-source.ts is made of the files in src/dashboard/page', async () => {
  await expect(await dashboardPage()).toMatchFileSnapshot('../../../src/dashboard/page-source.ts');
});
