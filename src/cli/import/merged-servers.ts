// The servers of several files as one list: the same server of two clients once, two that only share a name under names of
// their own. What leads to this gateway itself is left out, since it would call itself.

import { isDeepStrictEqual } from 'node:util';
import type { ImportableServer, OwnEntry } from '../../../config/catalog/importable-servers.ts';

/** Where a server was found. */
export interface Origin {
  /** The client, as people call it; undefined for a file of nobody known. */
  readonly client: string | undefined;
  /** A word of it for the names of servers. */
  readonly word: string;
  readonly file: string;
  readonly line: number;
  readonly project: string | undefined;
}

export interface MergedServer {
  readonly id: string;
  readonly entry: OwnEntry;
  readonly origins: readonly Origin[];
  /** The name that another server has. */
  readonly renamedFrom: string | undefined;
}

export interface FoundServers {
  readonly client: string | undefined;
  readonly word: string;
  readonly file: string;
  readonly servers: readonly ImportableServer[];
}

export function mergedServers(files: readonly FoundServers[]): {
  readonly servers: readonly MergedServer[];
  /** Entries that lead to a gateway of this kind. */
  readonly ownEntries: readonly Origin[];
} {
  const merged: MergedServer[] = [];
  const ownEntries: Origin[] = [];
  for (const { client, word, file, servers } of files) {
    for (const { id, entry, line, project } of servers) {
      const origin = { client, word, file, line, project };
      const same = merged.findIndex(
        (each) => (each.renamedFrom ?? each.id) === id && isSame(each.entry, entry),
      );
      const earlier = merged[same];
      if (isThisProgram(id, entry)) ownEntries.push(origin);
      else if (earlier !== undefined) merged[same] = joined(earlier, entry, origin);
      else {
        const free = freeId(id, word, merged);
        merged.push({ id: free, entry, origins: [origin], renamedFrom: free === id ? undefined : id });
      }
    }
  }
  return { servers: merged, ownEntries };
}

/** On where one of the clients has it on. */
function joined(earlier: MergedServer, entry: OwnEntry, origin: Origin): MergedServer {
  const isOn = entry.enabled !== false || earlier.entry.enabled !== false;
  return {
    ...earlier,
    entry: isOn ? withoutSwitch(earlier.entry) : earlier.entry,
    origins: [...earlier.origins, origin],
  };
}

const isSame = (a: OwnEntry, b: OwnEntry) => isDeepStrictEqual(withoutSwitch(a), withoutSwitch(b));

function withoutSwitch({ enabled: _, ...entry }: OwnEntry): OwnEntry {
  return entry;
}

function freeId(id: string, word: string, servers: readonly MergedServer[]): string {
  const isFree = (wish: string) => servers.every((each) => each.id !== wish);
  if (isFree(id)) return id;
  const longer = `${id.slice(0, 63 - word.length - 4)}-${word}`;
  const numbered = Array.from({ length: servers.length + 1 }, (_, index) => `${longer}-${index + 2}`);
  return [longer, ...numbered].find(isFree) ?? longer;
}

/** As `connect` writes it, or as somebody has written it by hand. */
function isThisProgram(id: string, { command, args }: OwnEntry): boolean {
  const words = [command, ...(Array.isArray(args) ? args : [])].map(String);
  const isScript = words.some((word, at) => /[\\/]main\.js$/.test(word) && words[at + 1] === 'stdio');
  const isNamed = words.some((word) => /(?:^|[\\/])(?:actor-gateway|gateway-stdio)$/.test(word));
  return id === 'actor-gateway' || isScript || isNamed;
}
