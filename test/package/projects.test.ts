import { beforeAll, describe, expect, inject, test } from 'vitest';

import { packLibrary, projectNames, runProject } from './projects.js';

const names = await projectNames();

describe('the packed library', () => {
  beforeAll(packLibrary);

  test.each(names)('installs and works in the project %s', async (name) => {
    const printed = await runProject(name, inject('mongoUri'));
    console.log(`${name}:\n${printed}`);
    expect(printed).not.toMatch(/ExperimentalWarning|LeaseholdWarning/);
  });

  test('has a project for each framework, test runner, bundler and runtime that the documentation names', () => {
    expect(names).toEqual(
      expect.arrayContaining([
        'bundlers',
        'express',
        'jest-29',
        'jest-30',
        'nestjs',
        'runtimes',
        'typescript',
      ]),
    );
  });
});
