// Names of tools and prompts in merged lists (/mcp and profiles): `server__tool`, or a cleaned and shortened
// name with a digest. Model APIs accept up to 64 characters of [A-Za-z0-9_-], and many clients reject a whole
// list with one invalid name. Names are unique, and depend only on the server ids and the server's own tools.
// `a__b__c` could be tool `b__c` of server `a` or tool `c` of server `a__b`: it belongs to the longer server
// id, even if this server does not have the tool. No server can choose the name of another server's tool:
// servers whose ids look alike get long digests, and a plain name never has the form of a long digest name.

import { createHash } from 'node:crypto';

export const MAX_NAME_LENGTH = 64;
/** Maximum length of server ids. */
const MAX_ID_LENGTH = 64;
const SEPARATOR = '__';
const SHORT_DIGEST = 8;
/** Long enough to make the search for a tool name with a given digest infeasible. */
const LONG_DIGEST = 32;
const validName = /^[A-Za-z0-9_-]{1,64}$/;
const endsWithLongDigest = /_[0-9a-f]{32}$/;

/**
 * Returns true if a tool name could equal a merged name, which contains the separator or has the full length.
 */
export function isReservedName(name: string): boolean {
  return name.includes(SEPARATOR) || name.length >= MAX_NAME_LENGTH;
}

export class MergedNames {
  readonly #ids: ReadonlySet<string>;
  readonly #pattern: RegExp;
  #lookAlikes: ReadonlySet<string> | undefined;

  /** `ids` includes every server's id, also if the server is not listed. `pattern` restricts plain names. */
  constructor(ids: Iterable<string>, pattern = validName) {
    this.#ids = new Set(ids);
    this.#pattern = pattern;
  }

  /** Returns the longest server id that is, followed by `__`, a prefix of the name. */
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

  /** Splits `server__tool`. Returns undefined for unknown servers and names with a long digest. */
  readPlain(name: string): { readonly server: string; readonly tool: string } | undefined {
    const server = endsWithLongDigest.test(name) ? undefined : this.ownerOf(name);
    return server === undefined ? undefined : { server, tool: name.slice(server.length + SEPARATOR.length) };
  }

  /**
   * Returns a listed name's server. For display only: names with digests do not always reveal their server.
   */
  likelyOwnerOf(name: string): string | undefined {
    const plain = this.readPlain(name);
    if (plain !== undefined) return plain.server;
    const candidates = [...this.#ids].filter((id) => name.startsWith(this.#prefixOf(id)));
    return candidates.sort((one, other) => other.length - one.length)[0];
  }

  /** Maps tools to merged names. `tools` must be the complete list of the server. */
  namesOf(server: string, tools: Iterable<string>): ReadonlyMap<string, string> {
    const names = new Map<string, string>();
    for (const tool of tools) names.set(tool, this.#nameOf(server, tool));
    const counts = new Map<string, number>();
    for (const name of names.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
    if (counts.size === names.size) return names;
    // Names that are not unique get long digests; a plain name stays.
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
    // Two names with different lone surrogates are equal in UTF-8, so such names are escaped.
    const unique = tool.isWellFormed() ? tool : JSON.stringify(tool);
    const digest = createHash('sha256').update(`${server}\0${unique}`).digest('hex').slice(0, length);
    return `${this.#clean(`${server}${SEPARATOR}${tool}`).slice(0, MAX_NAME_LENGTH - length - 1)}_${digest}`;
  }

  /** Replaces the characters that merged names must not contain. */
  #clean(name: string): string {
    const clean = name.replace(/[^A-Za-z0-9_-]/g, '_');
    return this.#pattern.test(clean.slice(0, MAX_NAME_LENGTH)) ? clean : `_${clean}`;
  }

  /**
   * Returns the servers whose cleaned ids could be confused: equal (`a.b` and `a_b`), or one the prefix of
   * another (`a` and `a__b`).
   */
  #findLookAlikes(): ReadonlySet<string> {
    const idsByPrefix = new Map<string, string[]>();
    for (const id of this.#ids) {
      const prefix = this.#prefixOf(id);
      idsByPrefix.set(prefix, [...(idsByPrefix.get(prefix) ?? []), id]);
    }
    const lookAlikes = new Set<string>();
    for (const [prefix, ids] of idsByPrefix) {
      // Another id is a prefix of these ids.
      for (let at = prefix.indexOf(SEPARATOR); at >= 0; at = prefix.indexOf(SEPARATOR, at + 1)) {
        const shorter = idsByPrefix.get(prefix.slice(0, at + SEPARATOR.length));
        if (shorter !== undefined && shorter !== ids)
          for (const id of [...shorter, ...ids]) lookAlikes.add(id);
      }
      // Several ids are equal after cleaning.
      if (ids.length > 1) for (const id of ids) lookAlikes.add(id);
    }
    return lookAlikes;
  }

  #prefixOf(id: string): string {
    return this.#clean(`${id}${SEPARATOR}`).slice(0, MAX_NAME_LENGTH - SHORT_DIGEST - 1);
  }
}
