// The tool servers that come with the gateway have names (actor-gateway-files, actor-gateway-browser, actor-gateway-repos), and a
// catalog says them as any other command. In a checkout, under npx and beside a global install they are found alike, since the
// folder that holds them is put on the PATH of the gateway, and so of what it starts: first of all, so that they are of the
// same version. The folder of this Node goes last: a client on a desktop starts us by a path, and has neither node nor npx.

import { delimiter, dirname, join } from 'node:path';

/** Changes `PATH` of the environment. */
export function addOwnPrograms(env: NodeJS.ProcessEnv): void {
  const before = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const own = join(import.meta.dirname, 'bin');
  const node = dirname(process.execPath);
  const folders = [own, ...before.filter((folder) => folder !== own)];
  env.PATH = [...folders, ...(folders.includes(node) ? [] : [node])].join(delimiter);
}
