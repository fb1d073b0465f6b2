// Read-only client for MCP registries (API v0.1), public directories from which the command line installs
// servers. A server name is one path segment, with an encoded slash. Lists are paged by cursor. The number of
// requested pages is limited, and a repeated cursor ends the list.

import { HttpApi } from '../../../libs/rest/http-api.ts';
import { path } from '../../../libs/rest/path.ts';
import { RequestFault } from '../../../libs/rest/request-fault.ts';
import { type RegistryEntry, readEntry } from './entry.ts';

const TIMEOUT_MS = 20_000;
const MAX_ANSWER_BYTES = 8_388_608;
const PAGE = 100;
const MAX_PAGES = 50;

/** A failed registry request. The message is shown to users; requests contain no secrets. */
export class RegistryError extends Error {
  /** True if the requested entry does not exist. */
  readonly isAbsent: boolean;

  constructor(message: string, isAbsent = false) {
    super(message);
    this.name = 'RegistryError';
    this.isAbsent = isAbsent;
  }
}

export interface SearchResult {
  readonly entries: readonly RegistryEntry[];
  /** True if the registry has more entries. */
  readonly isCut: boolean;
}

export class Registry {
  readonly address: string;
  readonly #api: HttpApi;

  /** `baseUrl` is the address without `/v0.1`. Throws RegistryError if the address is invalid. */
  constructor(baseUrl: string, timeoutMs = TIMEOUT_MS) {
    this.address = baseUrl.replace(/\/+$/, '').replace(/\/v0(?:\.1)?$/, '');
    try {
      this.#api = new HttpApi({
        baseUrl: this.address,
        timeoutMs,
        maxAnswerBytes: MAX_ANSWER_BYTES,
        redirects: 'same-origin',
      });
    } catch (error) {
      throw new RegistryError(`invalid registry address: ${(error as Error).message}`);
    }
  }

  /** Returns the latest versions of servers whose name contains `text`, up to `maxEntries`. */
  async search(text: string | undefined, maxEntries: number): Promise<SearchResult> {
    const entriesByName = new Map<string, RegistryEntry>();
    const cursors = new Set<string>();
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      // One more than `maxEntries` shows if the list is cut.
      const query = { search: text, version: 'latest', limit: Math.min(PAGE, maxEntries + 1), cursor };
      const { servers, metadata } = (await this.#get('/v0.1/servers', query)) as ListAnswer;
      if (!Array.isArray(servers)) throw this.#notARegistry();
      for (const entry of servers.map(readEntry)) {
        if (entry === undefined) continue;
        // Some registries ignore `latest`.
        if (!entriesByName.has(entry.name) || entry.isLatest) entriesByName.set(entry.name, entry);
      }
      const next = metadata?.nextCursor;
      if (entriesByName.size > maxEntries || typeof next !== 'string' || next === '' || cursors.has(next))
        break;
      cursors.add(next);
      cursor = next;
    }
    const entries = [...entriesByName.values()];
    return { entries: entries.slice(0, maxEntries), isCut: entries.length > maxEntries };
  }

  /**
   * Returns a server version, by default the latest. Throws RegistryError if the entry is about another
   * server or version.
   */
  async entry(name: string, version = 'latest'): Promise<RegistryEntry> {
    const entry = readEntry(await this.#get(versionPath(name, version), {}));
    if (entry === undefined) throw this.#notARegistry();
    if (!isAbout(entry, name, version))
      throw new RegistryError(
        `the registry at ${this.address} returned ${entry.name} (${entry.version}) instead of ${name} (${version}); ` +
          'nothing is installed',
      );
    return entry;
  }

  /** Returns a deleted server's entry; undefined if unknown or if the request fails. */
  async findDeleted(name: string, version = 'latest'): Promise<RegistryEntry | undefined> {
    try {
      const entry = readEntry(await this.#get(versionPath(name, version), { include_deleted: true }));
      return entry?.status === 'deleted' && isAbout(entry, name, version) ? entry : undefined;
    } catch {
      return undefined;
    }
  }

  async #get(
    path: string,
    query: Readonly<Record<string, string | number | boolean | undefined>>,
  ): Promise<unknown> {
    try {
      const { status, json } = await this.#api.request({ path, query });
      if (status === 404) throw new RegistryError(`the registry at ${this.address} does not have it`, true);
      if (status === 429)
        throw new RegistryError(`the registry at ${this.address} limits requests; try again later`);
      if (status !== 200)
        throw new RegistryError(`the registry at ${this.address} responded with status ${status}`);
      if (typeof json !== 'object' || json === null) throw this.#notARegistry();
      return json;
    } catch (error) {
      if (!(error instanceof RequestFault)) throw error;
      const remedy =
        error.kind === 'redirected'
          ? 'use the new address in --registry or registry_url'
          : 'check the address';
      throw new RegistryError(
        `the request to the registry at ${this.address} failed: ${error.message}; ${remedy}`,
      );
    }
  }

  #notARegistry(): RegistryError {
    return new RegistryError(
      `${this.address} is not an MCP registry (v0.1); --registry expects the address without /v0.1`,
    );
  }
}

function isAbout(entry: RegistryEntry, name: string, version: string): boolean {
  return entry.name === name && (version === 'latest' || entry.version === version);
}

interface ListAnswer {
  readonly servers?: unknown;
  readonly metadata?: { readonly nextCursor?: unknown } | null;
}

/**
 * Returns a version's path. Throws RegistryError (`isAbsent`) if name or version cannot be a path segment:
 * such an entry cannot exist.
 */
function versionPath(name: string, version: string): string {
  try {
    return path`/v0.1/servers/${name}/versions/${version}`;
  } catch {
    throw new RegistryError(
      `invalid server name or version: ${JSON.stringify(name)}, ${JSON.stringify(version)}`,
      true,
    );
  }
}
