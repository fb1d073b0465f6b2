// `npm run try -- NAME`: runs an example in this terminal without accounts or keys, with a simulated chat
// platform or model. Bundles examples/try/main.ts together with the simulated platforms in test/fixtures,
// and runs the bundle.

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
    // Packages written for CommonJS expect a `require` when bundled into a module.
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
