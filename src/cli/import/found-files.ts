// The files in which clients on this machine keep their servers, or the one that was named.

import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, resolve } from 'node:path';
import type { Client, Machine } from '../../../config/clients/client.ts';
import { clientIds, clientNamed, clients } from '../../../config/clients/client-list.ts';
import { UsageError } from '../api/target-options.ts';
import { hintFor } from '../api/unknown-name.ts';

export interface FoundFile {
  readonly path: string;
  /** Undefined for a file of nobody known. */
  readonly client: Client | undefined;
}

export function thisMachine(env: NodeJS.ProcessEnv): Machine {
  return {
    platform: process.platform,
    home: homedir(),
    appData: env.APPDATA,
    configHome: env.XDG_CONFIG_HOME,
    cwd: process.cwd(),
  };
}

/** Those that are there, and where was looked. Throws UsageError for a client that nobody knows. */
export function filesOfClients(
  machine: Machine,
  from: string | undefined,
): { readonly found: readonly FoundFile[]; readonly sought: readonly string[] } {
  const named = from === undefined ? undefined : clientNamed(from);
  if (from !== undefined && named === undefined)
    throw new UsageError(`--from: there is no client ${JSON.stringify(from)}; ${hintFor(from, clientIds)}`);
  const found = new Map<string, FoundFile>();
  const sought: string[] = [];
  for (const client of named === undefined ? clients : [named]) {
    for (const { path } of client.files(machine)) {
      sought.push(path);
      if (!existsSync(path)) continue;
      // In the home folder the file of the project is that of the user; and some keep their files in one place, with links.
      const real = realpathSync(path);
      if (!found.has(real)) found.set(real, { path, client });
    }
  }
  return { found: [...found.values()], sought: [...new Set(sought)] };
}

/** A file that was named, with the client whose it is, if that can be seen. */
export function namedFile(machine: Machine, file: string): FoundFile {
  const path = resolve(file);
  const client = clients.find((each) => each.files(machine).some((known) => resolve(known.path) === path));
  return { path, client };
}

/** A word for names of servers. */
export function wordOf({ path, client }: FoundFile): string {
  const word = client?.id ?? basename(path).replace(/\.\w+$/, '');
  return word.replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^-+|-+$/g, '') || 'file';
}
