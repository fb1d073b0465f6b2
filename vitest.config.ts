import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Real processes and sockets: give slow machines room, but let nothing hang for ever.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    pool: 'forks',
    maxWorkers: 2,
    // A skipped test is a lie in the count; the verify script fails on any.
    allowOnly: false,
    reporters: ['default'],
  },
});
