// The tool servers that come with the gateway have names (actor-gateway-files, actor-gateway-browser, actor-gateway-repos), and a
// catalog says them as any other command. In a checkout, under npx and beside a global install they are found alike, since the
// folder that holds them is put on the PATH of the gateway, and so of what it starts: first of all, so that they are of the
// same version. The folder of this Node goes last: a client on a desktop starts us by a path, and has neither node nor npx.

import { delimiter, dirname, join } from 'node:path';

/** Changes `PATH` of the environment. */
export function addOwnPrograms(env: Record<string, string | undefined>): void {
  // A copy of the environment of Windows has `Path`, and no other spelling of it.
  const name = Object.hasOwn(env, 'PATH') ? 'PATH' : (Object.keys(env).find(isPath) ?? 'PATH');
  const before = (env[name] ?? '').split(delimiter).filter((folder) => folder !== '');
  const own = join(import.meta.dirname, 'bin');
  const node = dirname(process.execPath);
  const folders = [own, ...before.filter((folder) => folder !== own)];
  env[name] = [...folders, ...(folders.includes(node) ? [] : [node])].join(delimiter);
}

const isPath = (name: string): boolean => name.toUpperCase() === 'PATH';
