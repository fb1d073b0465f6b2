// `npm run build`: bundles the entry points with the packages they import into dist/, for a fast start.
// `--outdir DIR` builds into another folder. Not bundled: native addons (HTTP, store), the browser driver,
// and pino-pretty, which is loaded only on a terminal. The workers of the store and of the catalog
// are separate scripts because they run in threads.

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { buildPage } from './build-page.mjs';
import { joinedDeclarations } from './declarations.mjs';
import { licencesOf } from './third-party.mjs';

const root = resolve(import.meta.dirname, '..');
const { values } = parseArgs({ options: { outdir: { type: 'string', default: 'dist' } } });
const dist = resolve(root, values.outdir);
const entries = {
  main: 'src/main.ts',
  stdio: 'src/stdio.ts',
  core: 'src/core.ts',
  commands: 'src/cli/commands/run-command.ts',
  'store-worker': 'actors/store/worker/store-worker.ts',
  'catalog-worker': 'src/catalog-worker.ts',
  'tool-servers/filesystem': 'tool-servers/filesystem/main.ts',
  'tool-servers/browser': 'tool-servers/browser/main.ts',
  'tool-servers/repository-host': 'tool-servers/repository-host/main.ts',
};
/**
 * Files of the HTTP addon that are copied: platform, CPU, and ABI version (115 is Node 20, 127 is Node 22).
 */
const SHIPPED_ADDON = /^uws_(linux|darwin|win32)_(x64|arm64)_(115|127)\.node$/;
/**
 * Plugin that leaves the commands out of main.js: loading them would add 7 ms to each start of the gateway.
 */
const withoutCommands = {
  name: 'commands apart',
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/run-command\.ts$/ }, ({ kind }) =>
      kind === 'dynamic-import' ? { path: './commands.js', external: true } : undefined,
    ),
};

rmSync(dist, { recursive: true, force: true });
mkdirSync(join(dist, 'schema'), { recursive: true });

const program = {
  absWorkingDir: root,
  outdir: dist,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'esm',
  sourcemap: true,
  metafile: true,
  minifySyntax: true,
  external: ['uWebSockets.js', 'pino-pretty', 'libsql', 'playwright-core', 'pg-native'],
  plugins: [withoutCommands],
  // The version for Node uses a `require` that cannot be bundled.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  // Packages written for CommonJS expect a `require` when bundled into a module.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  logLevel: 'warning',
};
const { main, commands, ...others } = entries;
// `splitting` puts dynamic imports, such as triggers, into chunks that are loaded when needed. Commands are a
// bundle without the gateway, because most of them only call a running gateway. They start in half the time.
const built = [
  await build({ ...program, entryPoints: { main }, splitting: true }),
  await build({ ...program, entryPoints: { commands }, splitting: true }),
  await build({ ...program, entryPoints: others }),
];
const addonFiles = shipAddons();
nameToolServers();
// The shell with which npx installs a package without running it.
cpSync(join(root, 'actors/mcp/installs/npx-shell.sh'), join(dist, 'npx-shell.sh'));

await buildPage(root, join(dist, 'inspector'));

const inputs = [...built.flatMap(({ metafile }) => Object.keys(metafile.inputs)), ...addonFiles];
writeFileSync(join(dist, 'THIRD-PARTY-LICENSES.txt'), licencesOf(root, inputs));

// The module that exports the JSON schemas is bundled, imported and removed.
const schemaModule = join(dist, 'schema.build.mjs');
await build({
  absWorkingDir: root,
  entryPoints: ['config/json-schema/json-schemas.ts'],
  outfile: schemaModule,
  bundle: true,
  platform: 'node',
  format: 'esm',
  logLevel: 'warning',
});
const { jsonSchemas } = await import(pathToFileURL(schemaModule).href);
for (const [name, schema] of Object.entries(jsonSchemas)) {
  writeFileSync(join(dist, 'schema', `${name}.json`), `${JSON.stringify(schema, null, 2)}\n`);
}
rmSync(schemaModule);

// Type declarations of the library. Skipped without dev dependencies, which include the compiler.
const tsc = join(root, 'node_modules/typescript/bin/tsc');
if (existsSync(tsc)) {
  const types = join(dist, 'types');
  const options = ['-p', join(root, 'tsconfig.types.json'), '--outDir', types];
  execFileSync(process.execPath, [tsc, ...options], { stdio: 'inherit' });
  writeFileSync(join(dist, 'core.d.ts'), joinedDeclarations(join(types, 'src', 'core.d.ts')));
  rmSync(types, { recursive: true });
}

/**
 * Copies the HTTP addon for the supported Node versions. The published package does not depend on
 * uWebSockets.js: that package contains addons for older versions, and warns on Node 20. Returns the entry
 * file, whose license is shipped.
 */
function shipAddons() {
  const from = 'node_modules/uWebSockets.js/dist';
  const to = join(dist, 'uWebSockets.js');
  mkdirSync(join(to, 'bin'), { recursive: true });
  const addons = readdirSync(join(root, from, 'bin')).filter((name) => SHIPPED_ADDON.test(name));
  for (const file of ['index.mjs', 'uws.mjs', ...addons.map((name) => join('bin', name))])
    cpSync(join(root, from, file), join(to, file));
  return [`${from}/index.mjs`];
}

/**
 * Creates named programs for the tool servers, so that catalogs can use them everywhere
 * (src/bundled-programs.ts).
 */
function nameToolServers() {
  mkdirSync(join(dist, 'bin'));
  const sourceFolders = { files: 'filesystem', browser: 'browser', repos: 'repository-host' };
  for (const [name, sourceFolder] of Object.entries(sourceFolders)) {
    const text = `#!/usr/bin/env node\nimport '../tool-servers/${sourceFolder}.js';\n`;
    writeFileSync(join(dist, 'bin', `actor-gateway-${name}`), text, { mode: 0o755 });
  }
}
