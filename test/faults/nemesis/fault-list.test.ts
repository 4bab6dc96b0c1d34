import { existsSync } from 'node:fs';

import { expect, test } from 'vitest';

import { PROVED_ELSEWHERE } from './fault-list.js';

test.each(Object.entries(PROVED_ELSEWHERE))('the test files of fault %s exist', (_, files) => {
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});
