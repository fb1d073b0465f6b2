// `npm start`: runs the built gateway on the example configuration, or on what follows `--`.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = resolve(import.meta.dirname, '..');
const main = resolve(root, 'dist', 'main.js');
if (!existsSync(main)) {
  console.error('dist/main.js is missing; run npm start, or node scripts/setup.mjs first');
  process.exit(1);
}
if (!process.argv.some((arg) => /^(-c|--config|-h|--help|-V|--version)(=|$)/.test(arg))) {
  process.argv.push('--config', resolve(root, 'gateway.yaml'));
}
await import(pathToFileURL(main).href);
