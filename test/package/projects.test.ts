import { beforeAll, describe, expect, inject, test } from 'vitest';

import { BOUND_MS, packLibrary, projectNames, runProject } from './projects.js';

const names = await projectNames();

describe('the packed library', () => {
  beforeAll(packLibrary, BOUND_MS);

  test.each(names)(
    'installs and works in the project %s',
    async (name) => {
      const printed = await runProject(name, inject('mongoUri'));
      console.log(`${name}:\n${printed}`);
      expect(printed).not.toMatch(/ExperimentalWarning|LeaseholdWarning/);
    },
    BOUND_MS,
  );

  test('has a project for each framework, scheduler, test runner, bundler, driver and runtime that the documentation names', () => {
    expect(names).toEqual([
      ...['bundlers', 'express', 'jest-29', 'jest-30', 'mongoose-8', 'mongoose-9', 'nestjs', 'nextjs'],
      ...['node-cron', 'runtimes', 'two-copies', 'two-drivers', 'typescript'],
    ]);
  });
});
