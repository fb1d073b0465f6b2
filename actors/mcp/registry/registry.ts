// A registry of servers that speaks the API of the public one, version v0.1. It is only read.
//
// The name of a server is one segment of a path, its slash encoded. Lists come in pages, each with a cursor for the next; how
// many are asked for is bounded, and a cursor that comes again ends them.

import { HttpApi } from '../../../libs/rest/http-api.ts';
import { path } from '../../../libs/rest/path.ts';
import { RequestFault } from '../../../libs/rest/request-fault.ts';
import { type RegistryEntry, readEntry } from './registry-entry.ts';

const TIMEOUT_MS = 20_000;
const MAX_ANSWER_BYTES = 8_388_608;
const PAGE = 100;
const MAX_PAGES = 50;

/** Why a registry has not said what it was asked. The message is for people; nothing secret is ever sent. */
export class RegistryError extends Error {
  /** What was asked for is not there. */
  readonly isAbsent: boolean;

  constructor(message: string, isAbsent = false) {
    super(message);
    this.name = 'RegistryError';
    this.isAbsent = isAbsent;
  }
}

export interface Found {
  readonly entries: readonly RegistryEntry[];
  /** There are others. */
  readonly isCut: boolean;
}

export class Registry {
  readonly address: string;
  readonly #api: HttpApi;

  /** `baseUrl` is the address without `/v0.1`. Throws RegistryError for one that is none. */
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
      throw new RegistryError(`the address of the registry cannot be used: ${(error as Error).message}`);
    }
  }

  /** The newest versions of servers whose name has that in it, `most` at most. */
  async search(word: string | undefined, most: number): Promise<Found> {
    const found = new Map<string, RegistryEntry>();
    const cursors = new Set<string>();
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const query = { search: word, version: 'latest', limit: Math.min(PAGE, most + 1), cursor };
      const { servers, metadata } = (await this.#ask('/v0.1/servers', query)) as ListAnswer;
      if (!Array.isArray(servers)) throw this.#noRegistry();
      for (const entry of servers.map(readEntry)) {
        if (entry === undefined) continue;
        // Not every registry knows of `latest`.
        if (!found.has(entry.name) || entry.isLatest) found.set(entry.name, entry);
      }
      const next = metadata?.nextCursor;
      if (found.size > most || typeof next !== 'string' || next === '' || cursors.has(next)) break;
      cursors.add(next);
      cursor = next;
    }
    const entries = [...found.values()];
    return { entries: entries.slice(0, most), isCut: entries.length > most };
  }

  /** Returns the given server version, by default the newest. Throws RegistryError if the entry has a different server or version. */
  async entry(name: string, version = 'latest'): Promise<RegistryEntry> {
    const entry = readEntry(await this.#ask(versionPath(name, version), {}));
    if (entry === undefined) throw this.#noRegistry();
    if (!isAbout(entry, name, version))
      throw new RegistryError(
        `the registry at ${this.address} was asked for ${name} (${version}), and its entry is of ${entry.name} ` +
          `(${entry.version}); nothing of that is installed`,
      );
    return entry;
  }

  /** What became of a server that is not listed any more; undefined where it never was, or nobody tells. */
  async deleted(name: string, version = 'latest'): Promise<RegistryEntry | undefined> {
    try {
      const entry = readEntry(await this.#ask(versionPath(name, version), { include_deleted: true }));
      return entry?.status === 'deleted' && isAbout(entry, name, version) ? entry : undefined;
    } catch {
      return undefined;
    }
  }

  async #ask(
    path: string,
    query: Readonly<Record<string, string | number | boolean | undefined>>,
  ): Promise<unknown> {
    try {
      const { status, json } = await this.#api.request({ path, query });
      if (status === 404) throw new RegistryError(`the registry at ${this.address} does not have it`, true);
      if (status === 429)
        throw new RegistryError(`the registry at ${this.address} takes no more requests for now; try again`);
      if (status !== 200) throw new RegistryError(`the registry at ${this.address} answered ${status}`);
      if (typeof json !== 'object' || json === null) throw this.#noRegistry();
      return json;
    } catch (error) {
      if (!(error instanceof RequestFault)) throw error;
      const cure =
        error.kind === 'redirected'
          ? 'give its own address with --registry, or in registry_url'
          : 'is the address right?';
      throw new RegistryError(`no answer of the registry at ${this.address}: ${error.message}; ${cure}`);
    }
  }

  #noRegistry(): RegistryError {
    return new RegistryError(
      `what answers at ${this.address} is no registry of servers (v0.1); --registry takes the address without /v0.1`,
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

/** Throws a RegistryError if name or version cannot be a path segment. */
function versionPath(name: string, version: string): string {
  try {
    return path`/v0.1/servers/${name}/versions/${version}`;
  } catch {
    throw new RegistryError(
      `no registry has a server ${JSON.stringify(name)}, version ${JSON.stringify(version)}`,
      true,
    );
  }
}
