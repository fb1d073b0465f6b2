// Adds the bundled tool servers (actor-gateway-files, actor-gateway-browser, actor-gateway-repos) to PATH, so
// that a catalog can name them in a checkout, under npx and in a global install. Their folder comes first, so
// that the gateway starts them in its own version. The folder of this Node comes last: desktop clients start
// the gateway by path, and their PATH may lack node and npx.

import { delimiter, dirname, join } from 'node:path';

/** Changes PATH in `env`. */
export function addBundledPrograms(env: Record<string, string | undefined>): void {
  // On Windows the variable may be named `Path`, and a copy of process.env is case-sensitive.
  const name = Object.hasOwn(env, 'PATH') ? 'PATH' : (Object.keys(env).find(isPath) ?? 'PATH');
  const before = (env[name] ?? '').split(delimiter).filter((folder) => folder !== '');
  const bundled = join(import.meta.dirname, 'bin');
  const node = dirname(process.execPath);
  const folders = [bundled, ...before.filter((folder) => folder !== bundled)];
  env[name] = [...folders, ...(folders.includes(node) ? [] : [node])].join(delimiter);
}

const isPath = (name: string): boolean => name.toUpperCase() === 'PATH';
