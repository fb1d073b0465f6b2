// Opens the gateway's PostgreSQL store in isolation. The store is bundled from the source of the
// checkout that contains the measured build.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

/** Migrates the tables and opens the store. */
export async function openStore(checkout, url) {
  const outdir = mkdtempSync(join(tmpdir(), 'bench-'));
  try {
    const outfile = join(outdir, 'store.mjs');
    await build({
      absWorkingDir: checkout,
      entryPoints: ['actors/store/postgres/open-postgres-store.ts'],
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      external: ['pg-native'],
      banner: {
        js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
      },
    });
    const { openPostgresStore } = await import(pathToFileURL(outfile));
    return (await openPostgresStore({ url, node: { name: 'alone', address: '' } })).store;
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}
