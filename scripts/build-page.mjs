// Builds the inspector page: script, style sheets and HTML files. The page works offline: it loads nothing
// from other hosts.

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const files = ['page.html', 'icon.svg'];

/** Message in the key form if the key is wrong. */
const wrongKey = '<p class="problem" role="alert">That is not the API key of this gateway.</p>';

/** Builds the page of the source tree at `root` into `outdir`. */
export async function buildPage(root, outdir) {
  const source = join(root, 'src/inspector/page');
  await build({
    absWorkingDir: root,
    entryPoints: [
      { in: join(source, 'main.tsx'), out: 'page' },
      { in: join(source, 'page.css'), out: 'page' },
      { in: join(source, 'key.css'), out: 'key' },
    ],
    outdir,
    bundle: true,
    platform: 'browser',
    // Browsers of 2024 and later, because the style sheet uses light-dark().
    target: ['chrome123', 'firefox120', 'safari17.5'],
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    logLevel: 'warning',
  });
  for (const name of files) cpSync(join(source, name), join(outdir, name));
  const form = readFileSync(join(source, 'key.html'), 'utf8');
  for (const [name, problem] of [
    ['key.html', ''],
    ['key-wrong.html', wrongKey],
  ])
    writeFileSync(join(outdir, name), form.replace('<!-- problem -->', problem));
}
