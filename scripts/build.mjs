// Bundles each entry point into dist/, with its packages inside: one file to read is a fast start.
// `--outdir DIR` builds elsewhere. The native parts of HTTP and of the store cannot be bundled, nor what drives a
// browser, and pino-pretty is loaded on a terminal only. The store's worker is a script of its own: it runs in a thread, and only where there is a store.

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
  'tool-servers/filesystem': 'tool-servers/filesystem/main.ts',
  'tool-servers/browser': 'tool-servers/browser/main.ts',
  'tool-servers/repository-host': 'tool-servers/repository-host/main.ts',
};
/** By platform, processor and the number of Node's ABI: 115 is Node 20, 127 is Node 22. */
const SHIPPED_ADDON = /^uws_(linux|darwin|win32)_(x64|arm64)_(115|127)\.node$/;
/** A file of its own: what the commands need besides would cost every start of the gateway 7 ms. */
const apart = {
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
  plugins: [apart],
  // Its form for Node finds its parts by a `require` that a bundle cannot follow.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  // Packages written for CommonJS expect a `require` when bundled into a module.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  logLevel: 'warning',
};
const { main, commands, ...others } = entries;
// The triggers are a part that is loaded only where there are any; it shares the classes of the rest. So are the commands
// that start a gateway of their own: most commands only ask one, and start in half the time without it.
const built = [
  await build({ ...program, entryPoints: { main }, splitting: true }),
  await build({ ...program, entryPoints: { commands }, splitting: true }),
  await build({ ...program, entryPoints: others }),
];
const addonFiles = shipAddons();
nameToolServers();

await buildPage(root, join(dist, 'inspector'));

const inputs = [...built.flatMap(({ metafile }) => Object.keys(metafile.inputs)), ...addonFiles];
writeFileSync(join(dist, 'THIRD-PARTY-LICENSES.txt'), licencesOf(root, inputs));

const schemas = join(dist, 'schema.build.mjs');
await build({
  absWorkingDir: root,
  entryPoints: ['config/json-schema/json-schemas.ts'],
  outfile: schemas,
  bundle: true,
  platform: 'node',
  format: 'esm',
  logLevel: 'warning',
});
const { jsonSchemas } = await import(pathToFileURL(schemas).href);
for (const [name, schema] of Object.entries(jsonSchemas)) {
  writeFileSync(join(dist, 'schema', `${name}.json`), `${JSON.stringify(schema, null, 2)}\n`);
}
rmSync(schemas);

// Type declarations for the library; an install without dev dependencies has no compiler and needs none.
const tsc = join(root, 'node_modules/typescript/bin/tsc');
if (existsSync(tsc)) {
  const types = join(dist, 'types');
  const options = ['-p', join(root, 'tsconfig.types.json'), '--outDir', types];
  execFileSync(process.execPath, [tsc, ...options], { stdio: 'inherit' });
  writeFileSync(join(dist, 'core.d.ts'), joinedDeclarations(join(types, 'src', 'core.d.ts')));
  rmSync(types, { recursive: true });
}

/**
 * The HTTP addon as its package has it, for the versions of Node it covers that are also ours: what is installed has no other
 * way to it, since the package brings those of older versions as well, and warns of Node 20. Gives where it came from.
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

/** The tool servers as programs with names, which a catalog may say wherever the gateway is: src/own-programs.ts. */
function nameToolServers() {
  mkdirSync(join(dist, 'bin'));
  const named = { files: 'filesystem', browser: 'browser', repos: 'repository-host' };
  for (const [name, file] of Object.entries(named)) {
    const text = `#!/usr/bin/env node\nimport '../tool-servers/${file}.js';\n`;
    writeFileSync(join(dist, 'bin', `actor-gateway-${name}`), text, { mode: 0o755 });
  }
}
