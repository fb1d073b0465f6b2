// Finds the configuration files of MCP clients on this machine, for `servers import` and `init`.

import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, resolve } from 'node:path';
import type { Machine } from '../../../config/clients/client.ts';
import { type ImportSource, importSourceIds, importSources } from '../../../config/clients/import-sources.ts';
import { CommandLineError } from '../api/target-options.ts';
import { hintFor } from '../api/unknown-name.ts';

export interface ClientConfigFile {
  readonly path: string;
  /** Undefined if the file belongs to no known client. */
  readonly client: ImportSource | undefined;
}

/** Describes this machine: the places of the clients' files depend on it. */
export function thisMachine(env: NodeJS.ProcessEnv): Machine {
  return {
    platform: process.platform,
    home: homedir(),
    appData: env.APPDATA,
    configHome: env.XDG_CONFIG_HOME,
    cwd: process.cwd(),
  };
}

/**
 * Returns the existing files of all clients, or of the client `from`, and all searched paths. Throws
 * CommandLineError if the client is unknown.
 */
export function findClientFiles(
  machine: Machine,
  from: string | undefined,
): { readonly found: readonly ClientConfigFile[]; readonly searchedPaths: readonly string[] } {
  const chosenClient = importSources.find(({ id }) => id === from);
  if (from !== undefined && chosenClient === undefined)
    throw new CommandLineError(
      `--from: there is no client ${JSON.stringify(from)}; ${hintFor(from, importSourceIds)}`,
    );
  const found = new Map<string, ClientConfigFile>();
  const searchedPaths: string[] = [];
  for (const client of chosenClient === undefined ? importSources : [chosenClient]) {
    for (const { path } of client.files(machine)) {
      searchedPaths.push(path);
      if (!existsSync(path)) continue;
      // Two paths may lead to the same file: by links, or because the current folder is the home folder.
      const real = realpathSync(path);
      if (!found.has(real)) found.set(real, { path, client });
    }
  }
  return { found: [...found.values()], searchedPaths: [...new Set(searchedPaths)] };
}

/** Returns the named file. `client` is set if a client is known to use this path. */
export function identifyFile(machine: Machine, file: string): ClientConfigFile {
  const path = resolve(file);
  const client = importSources.find((each) =>
    each.files(machine).some((known) => resolve(known.path) === path),
  );
  return { path, client };
}

/** Returns a short name for the file, which becomes part of the names of renamed servers. */
export function shortNameOf({ path, client }: ClientConfigFile): string {
  const shortName = client?.id ?? basename(path).replace(/\.\w+$/, '');
  return shortName.replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^-+|-+$/g, '') || 'file';
}
