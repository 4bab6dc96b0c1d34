import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/shared-server.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // Far more than any of them takes: a bound of what hangs, on whatever machine.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    teardownTimeout: 30_000,
  },
});
