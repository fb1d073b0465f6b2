// `npm start`: runs the built gateway with the example configuration, or with the arguments after `--`. A
// command among the arguments (`npm start -- servers`) runs instead, and sends its request to a running
// gateway.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = resolve(import.meta.dirname, '..');
const main = resolve(root, 'dist', 'main.js');
if (!existsSync(main)) {
  console.error('dist/main.js is missing; run npm start, or node scripts/setup.mjs first');
  process.exit(1);
}
const [firstArgument = ''] = process.argv.slice(2);
const isCommand = firstArgument !== '' && !firstArgument.startsWith('-');
if (!isCommand && !process.argv.some((arg) => /^(-[chV]|--(config|catalog|help|version)(=|$))/.test(arg))) {
  process.argv.push('--config', resolve(root, 'gateway.yaml'));
}
// npm starts this script in a shell, which exits on SIGTERM or a closed terminal, but does not forward the
// signal. The gateway then stops when its parent process changes.
const shell = process.ppid;
await import(pathToFileURL(main).href);
if (process.env.npm_lifecycle_event === 'start') {
  const watch = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, 500);
  watch.unref();
  // Ctrl-C reaches both the shell and the gateway. A second signal would abort the shutdown.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => clearInterval(watch));
}
