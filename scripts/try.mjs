// `npm run try -- NAME`: a chat in this terminal, without an account, or a stand-in for a model, without a key. The program is
// examples/try/main.ts; it uses the platforms of the tests, so it is bundled before it runs.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = resolve(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'try-'));
let program;
try {
  const outfile = join(folder, 'try.mjs');
  await build({
    absWorkingDir: root,
    entryPoints: ['examples/try/main.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    format: 'esm',
    // As in build.mjs.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
    logLevel: 'warning',
  });
  program = await import(pathToFileURL(outfile).href);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = await program.main(process.argv.slice(2), root);
