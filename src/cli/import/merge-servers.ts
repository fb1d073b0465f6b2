// Merges the servers of several client files. Equal servers become one, and different servers with the same
// name are renamed. Entries for the gateway itself are omitted, because it would call itself.

import { isDeepStrictEqual } from 'node:util';
import type { ImportableServer, OwnEntry } from '../../../config/catalog/importable-servers.ts';

/** Place where a server was found. */
export interface Origin {
  /** Name of the client; undefined if the client is unknown. */
  readonly client: string | undefined;
  /** Short name of the file, part of the new names of renamed servers. */
  readonly shortName: string;
  readonly file: string;
  readonly line: number;
  readonly project: string | undefined;
}

export interface MergedServer {
  readonly id: string;
  readonly entry: OwnEntry;
  readonly origins: readonly Origin[];
  /** Original name, if the server was renamed. */
  readonly renamedFrom: string | undefined;
}

export interface FileServers {
  readonly client: string | undefined;
  readonly shortName: string;
  readonly file: string;
  readonly servers: readonly ImportableServer[];
}

export function mergeServers(files: readonly FileServers[]): {
  readonly servers: readonly MergedServer[];
  /** Places of entries for the gateway itself. */
  readonly ownEntries: readonly Origin[];
} {
  const merged: MergedServer[] = [];
  const ownEntries: Origin[] = [];
  for (const { client, shortName, file, servers } of files) {
    for (const { id, entry, line, project } of servers) {
      const origin = { client, shortName, file, line, project };
      const same = merged.findIndex(
        (each) => (each.renamedFrom ?? each.id) === id && isSame(each.entry, entry),
      );
      const earlier = merged[same];
      if (isThisProgram(id, entry)) ownEntries.push(origin);
      else if (earlier !== undefined) merged[same] = addOrigin(earlier, entry, origin);
      else {
        const free = freeId(id, shortName, merged);
        merged.push({ id: free, entry, origins: [origin], renamedFrom: free === id ? undefined : id });
      }
    }
  }
  return { servers: merged, ownEntries };
}

/** Adds an origin. The merged server is enabled if any file enables it. */
function addOrigin(earlier: MergedServer, entry: OwnEntry, origin: Origin): MergedServer {
  const isEnabled = entry.enabled !== false || earlier.entry.enabled !== false;
  return {
    ...earlier,
    entry: isEnabled ? withoutEnabled(earlier.entry) : earlier.entry,
    origins: [...earlier.origins, origin],
  };
}

const isSame = (a: OwnEntry, b: OwnEntry) => isDeepStrictEqual(withoutEnabled(a), withoutEnabled(b));

function withoutEnabled({ enabled: _, ...entry }: OwnEntry): OwnEntry {
  return entry;
}

function freeId(id: string, word: string, servers: readonly MergedServer[]): string {
  const isFree = (wish: string) => servers.every((each) => each.id !== wish);
  if (isFree(id)) return id;
  const longer = `${id.slice(0, 63 - word.length - 4)}-${word}`;
  const numbered = Array.from({ length: servers.length + 1 }, (_, index) => `${longer}-${index + 2}`);
  return [longer, ...numbered].find(isFree) ?? longer;
}

/** Recognises entries for this program, from `connect` or written by hand. */
function isThisProgram(id: string, { command, args }: OwnEntry): boolean {
  const words = [command, ...(Array.isArray(args) ? args : [])].map(String);
  const isScriptOfProgram = words.some(
    (word, at) => /[\\/]main\.js$/.test(word) && words[at + 1] === 'stdio',
  );
  const hasProgramName = words.some((word) => /(?:^|[\\/])(?:actor-gateway|gateway-stdio)$/.test(word));
  return id === 'actor-gateway' || isScriptOfProgram || hasProgramName;
}
