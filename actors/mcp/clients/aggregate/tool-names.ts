// Tool and prompt names in merged lists: `server__tool`, or a name with a digest suffix. Model
// APIs accept up to 64 characters of [A-Za-z0-9_-], and one bad name breaks a client's whole list.
//
// TN1  names are unique, and the plain name `server__tool` refers to this tool or is unused. If two ids match
//      (`a` with `b__c`, `a__b` with `c`), the longer id owns the plain name even if it has no such tool.
// TN2  a name depends on server ids and the server's own tools: tools on other servers change nothing.
// TN3  a server cannot choose a different server's tool name: servers whose names start alike have long digests, and
//      a plain name never has a suffix like a long digest.

import { createHash } from 'node:crypto';

export const MAX_NAME_LENGTH = 64;
/** Maximum server id length. */
const MAX_ID_LENGTH = 64;
const SEPARATOR = '__';
const SHORT_DIGEST = 8;
/** Long enough to prevent the search for a tool name with a given digest. */
const LONG_DIGEST = 32;
const accepted = /^[A-Za-z0-9_-]{1,64}$/;
const endsWithLongDigest = /_[0-9a-f]{32}$/;

/** Tests if a tool name could equal a merged name: merged names contain the separator, or have full length. */
export function isReservedName(name: string): boolean {
  return name.includes(SEPARATOR) || name.length >= MAX_NAME_LENGTH;
}

export class MergedNames {
  readonly #ids: ReadonlySet<string>;
  readonly #pattern: RegExp;
  #lookAlikes: ReadonlySet<string> | undefined;

  /** `ids` includes hidden servers. `pattern` restricts plain names. */
  constructor(ids: Iterable<string>, pattern = accepted) {
    this.#ids = new Set(ids);
    this.#pattern = pattern;
  }

  /** Returns the longest server id that, followed by `__`, is a prefix of the name. */
  ownerOf(name: string): string | undefined {
    for (
      let at = name.lastIndexOf(SEPARATOR, MAX_ID_LENGTH);
      at > 0;
      at = name.lastIndexOf(SEPARATOR, at - 1)
    ) {
      const id = name.slice(0, at);
      if (this.#ids.has(id)) return id;
    }
    return undefined;
  }

  /** Splits `server__tool`. Returns undefined for unknown servers and for names with a long digest. */
  readPlain(name: string): { readonly server: string; readonly tool: string } | undefined {
    const server = endsWithLongDigest.test(name) ? undefined : this.ownerOf(name);
    return server === undefined ? undefined : { server, tool: name.slice(server.length + SEPARATOR.length) };
  }

  /** Returns a listed name's server. For display only: digest names of two servers may share a prefix. */
  likelyOwnerOf(name: string): string | undefined {
    const plain = this.readPlain(name);
    if (plain !== undefined) return plain.server;
    const fitting = [...this.#ids].filter((id) => name.startsWith(this.#beginningOf(id)));
    return fitting.sort((one, other) => other.length - one.length)[0];
  }

  /** Maps each tool to its merged name. `tools` is the server's complete list. */
  namesOf(server: string, tools: Iterable<string>): ReadonlyMap<string, string> {
    const names = new Map<string, string>();
    for (const tool of tools) names.set(tool, this.#nameOf(server, tool));
    const counts = new Map<string, number>();
    for (const name of names.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
    if (counts.size === names.size) return names;
    for (const [tool, name] of names)
      if (counts.get(name) !== 1 && name !== `${server}${SEPARATOR}${tool}`)
        names.set(tool, this.#digestName(server, tool, LONG_DIGEST));
    return names;
  }

  #nameOf(server: string, tool: string): string {
    const plain = `${server}${SEPARATOR}${tool}`;
    const isPlain = this.#pattern.test(plain) && this.readPlain(plain)?.server === server;
    return isPlain ? plain : this.#digestName(server, tool, this.#digestLength(server));
  }

  #digestLength(server: string): number {
    this.#lookAlikes ??= this.#findLookAlikes();
    return this.#lookAlikes.has(server) ? LONG_DIGEST : SHORT_DIGEST;
  }

  #digestName(server: string, tool: string, length: number): string {
    // UTF-8 replaces lone surrogates, so two different names could share a digest.
    const unique = tool.isWellFormed() ? tool : JSON.stringify(tool);
    const digest = createHash('sha256').update(`${server}\0${unique}`).digest('hex').slice(0, length);
    return `${this.#clean(`${server}${SEPARATOR}${tool}`).slice(0, MAX_NAME_LENGTH - length - 1)}_${digest}`;
  }

  /** Replaces unaccepted characters. */
  #clean(name: string): string {
    const clean = name.replace(/[^A-Za-z0-9_-]/g, '_');
    return this.#pattern.test(clean.slice(0, MAX_NAME_LENGTH)) ? clean : `_${clean}`;
  }

  /** Returns servers whose digest names may share a prefix, such as `a.b` and `a_b`. */
  #findLookAlikes(): ReadonlySet<string> {
    const byBeginning = new Map<string, string[]>();
    for (const id of this.#ids) {
      const beginning = this.#beginningOf(id);
      byBeginning.set(beginning, [...(byBeginning.get(beginning) ?? []), id]);
    }
    const found = new Set<string>();
    for (const [beginning, ids] of byBeginning) {
      for (let at = beginning.indexOf(SEPARATOR); at >= 0; at = beginning.indexOf(SEPARATOR, at + 1)) {
        const shorter = byBeginning.get(beginning.slice(0, at + SEPARATOR.length));
        if (shorter !== undefined && shorter !== ids) for (const id of [...shorter, ...ids]) found.add(id);
      }
      if (ids.length > 1) for (const id of ids) found.add(id);
    }
    return found;
  }

  #beginningOf(id: string): string {
    return this.#clean(`${id}${SEPARATOR}`).slice(0, MAX_NAME_LENGTH - SHORT_DIGEST - 1);
  }
}
