import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { longTests } from './test/long-tests.ts';
import { demandingTests, propertiesAtLength, testsApart, testsOnNodeHttp, turnOf } from './test/plan.ts';

const report = process.env.ACTOR_GATEWAY_TEST_REPORT;
/** `npm run test:long` runs the long tests, and the tests of HTTP on node:http; `npm test` does not. */
const { ACTOR_GATEWAY_TESTS: extent } = process.env;
const apart = testsApart();
const demanding = demandingTests();

/** The order of Vitest (large and slow files first), after the files that are known to be slow. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => turnOf(a.moduleId) - turnOf(b.moduleId));
  }
}

export default defineConfig({
  test: {
    // Longer than any wait of the fixtures, whose errors name the missing event.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 10_000,
    globalSetup: ['./test/real/installed.ts', './test/run-folder.ts'],
    setupFiles: './test/setup.ts',
    pool: 'forks',
    // The CLI prints local times.
    env: { TZ: 'UTC' },
    // Shared processes load fixtures and packages once. Tests in `parts apart` need a process of their own.
    isolate: false,
    // The projects share transformed modules.
    experimental: { fsModuleCache: true },
    // Files that run programs often wait, so 1.5 files per processor keep the processors busy.
    // A test must not depend on an idle machine: times that it compares differ by seconds.
    maxWorkers: Math.min(8, Math.max(2, Math.ceil(1.5 * availableParallelism()))),
    allowOnly: false,
    sequence: { sequencer: SlowFirst, groupOrder: 2 },
    reporters: report === undefined ? ['default'] : ['default', 'json'],
    ...(report === undefined ? {} : { outputFile: { json: report } }),
    // In this order. The last projects have short files, which keep all workers busy until the end.
    projects: [
      {
        extends: true,
        test: {
          name: 'e2e, demanding',
          include: extent === 'long' ? demanding.filter((file) => longTests.includes(file)) : demanding,
          exclude: extent === 'whole' ? longTests : [],
          maxWorkers: Math.min(6, Math.ceil(1.5 * availableParallelism())),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: extent === 'long' ? longTests : ['test/e2e/**/*.test.ts'],
          exclude: extent === 'whole' ? [...longTests, ...demanding] : demanding,
          maxWorkers: Math.min(10, Math.ceil(2.5 * availableParallelism())),
          sequence: { groupOrder: 1 },
        },
      },
      ...(extent === 'long'
        ? [
            {
              extends: true as const,
              test: {
                name: 'e2e on node:http',
                include: testsOnNodeHttp(),
                env: { GATEWAY_HTTP: 'node' },
              },
            },
            { extends: true as const, test: { name: 'properties', include: propertiesAtLength() } },
          ]
        : [
            { extends: true as const, test: { name: 'parts apart', include: apart, isolate: true } },
            {
              extends: true as const,
              test: {
                name: 'parts',
                include: ['test/*.test.ts', 'test/unit/**/*.test.ts', 'test/property/**/*.test.ts'],
                exclude: apart,
              },
            },
          ]),
    ],
  },
});
