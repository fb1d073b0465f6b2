// Checks for unused files, exports and packages. Tests import the packages of test/real from other workspaces,
// where knip does not find them. test/plan.test.ts checks that they are used.

import { readFileSync } from 'node:fs';

const real = JSON.parse(readFileSync(new URL('test/real/package.json', import.meta.url), 'utf8'));
const packages = Object.keys(real.dependencies);

export default {
  workspaces: {
    '.': {
      entry: [
        'src/main.ts',
        'src/stdio.ts',
        'src/core.ts',
        'src/inspector/page/main.tsx',
        'config/json-schema/json-schemas.ts',
        'scripts/*.mjs',
        'test/**/*.test.ts',
        'test/fixtures/**/*.{ts,mts,mjs}',
        'test/soak/{run,stepped-clock}.mjs',
        'test/soak/servers/*.mjs',
        'examples/**/*.{ts,mjs}',
      ],
      project: ['**/*.{ts,tsx,mjs}'],
    },
    bench: {
      entry: [
        'measures/*.mjs',
        'upstreams/*.mjs',
        '{allocation-probe,bare-agent,bare-http-relay,bare-relay,bare-webhook,loopback,model-server,postgres-alone,postgres-store,prepared-buffer,process-probe,sqlite-alone,store-alone,top}.mjs',
      ],
      project: ['**/*.mjs'],
      ignore: ['peers/probot-hook.mjs'],
    },
    'test/real': { entry: ['*.mjs'], project: ['*.mjs'] },
    'tool-servers': { entry: ['*/main.ts'], project: ['**/*.ts'] },
  },
  // The tests open the inspector's page with the Playwright of tool-servers.
  ignoreDependencies: [...packages, 'playwright-core'],
  ignoreExportsUsedInFile: true,
  ignoreBinaries: [
    'apt-get',
    'ip',
    'prlimit',
    'openssl',
    'perl',
    'mkfifo',
    'script',
    'unshare',
    'mount',
    'umount',
  ],
};
