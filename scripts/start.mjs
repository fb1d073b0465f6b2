// `npm start`: runs the built gateway on the example configuration, or on what follows `--`. A command that stands there
// (`npm start -- servers`) is passed on as it is: it asks a gateway that runs.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = resolve(import.meta.dirname, '..');
const main = resolve(root, 'dist', 'main.js');
if (!existsSync(main)) {
  console.error('dist/main.js is missing; run npm start, or node scripts/setup.mjs first');
  process.exit(1);
}
const [first = ''] = process.argv.slice(2);
const isCommand = /^[^-]/.test(first);
if (!isCommand && !process.argv.some((arg) => /^(-[chV]|--(config|catalog|help|version)(=|$))/.test(arg))) {
  process.argv.push('--config', resolve(root, 'gateway.yaml'));
}
// npm starts this through a shell, which dies of a SIGTERM (or of its closed terminal) without passing it on.
const shell = process.ppid;
await import(pathToFileURL(main).href);
if (process.env.npm_lifecycle_event === 'start') {
  const watch = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, 500);
  watch.unref();
  // The shell dies of a Ctrl-C too; the gateway is then draining already, and a second signal would cut that short.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => clearInterval(watch));
}
