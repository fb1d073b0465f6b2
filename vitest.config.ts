import { defineConfig } from 'vitest/config';

const report = process.env.ACTOR_GATEWAY_TEST_REPORT;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Real processes and sockets: give slow machines room, but let nothing hang for ever.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    pool: 'forks',
    maxWorkers: 2,
    allowOnly: false,
    reporters: report === undefined ? ['default'] : ['default', 'json'],
    ...(report === undefined ? {} : { outputFile: { json: report } }),
  },
});
