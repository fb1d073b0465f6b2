// A profile: some servers and tools at an own address (/mcp/@NAME), with own lists, search, notifications and
// counters. Listed items can be called, read, subscribed to and completed; everything else gets the response
// for an unknown name. Names are the same as at /mcp. Invariant, cited elsewhere by its tag:
//
// PFL2  a client in a profile receives nothing from servers outside, except for calls that started before the
//       server left the profile.

import type { ManagedServer } from '../../servers/managed-server.ts';
import { Aggregate, type ServerSource } from '../aggregate/aggregate.ts';
import { Discovery } from '../aggregate/discovery.ts';
import { ListChanges } from '../aggregate/list-changes.ts';
import { ToolSearch } from '../search/tool-search.ts';
import type { ProfileFilter } from './filter.ts';

/** The merged view at an address: all servers, or a profile's servers. */
export interface MergedView {
  readonly aggregate: Aggregate;
  readonly discovery: Discovery;
  /** Search tools; set if they replace the list of tools (`expose: search`). */
  readonly search: ToolSearch | undefined;
}

/** Target address: a server, a profile or, if both are undefined, all servers. */
export interface Endpoint {
  readonly server?: ManagedServer | undefined;
  readonly profile?: Profile | undefined;
}

export const allServers: Endpoint = {};

export interface ProfileOptions {
  readonly name: string;
  readonly filter: ProfileFilter;
  /** All servers. */
  readonly servers: ServerSource;
  /** Returns a server's tags; undefined without tool search. */
  readonly tagsOf: ((server: string) => readonly string[]) | undefined;
  /** Returns true if a client of the profile uses its lists. */
  areListsUsed?(profile: Profile): boolean;
}

export class Profile implements MergedView {
  readonly name: string;
  readonly aggregate: Aggregate;
  readonly discovery: Discovery;
  readonly search: ToolSearch | undefined;
  /** Sequence numbers of the list changes, for list_changed notifications. */
  readonly changes = new ListChanges();
  /** Request counters for GET /stats. */
  readonly counts = { total: 0, failed: 0, tool_errors: 0, in_flight: 0 };
  readonly #options: ProfileOptions;
  #filter: ProfileFilter;
  #version = 0;
  /** All servers of the catalog at the last call of `servers`. */
  #all: readonly ManagedServer[] = [];
  /** Result of the last call of `servers`. */
  #own: readonly ManagedServer[] = [];

  constructor(options: ProfileOptions) {
    const { tagsOf, servers } = options;
    this.name = options.name;
    this.#options = options;
    this.#filter = options.filter;
    // Changes with the servers and with the filter. Both numbers only grow, so the sum never repeats.
    const revision = () => servers.revision + this.#version;
    const own: ServerSource = {
      all: () => this.servers(),
      get revision() {
        return revision();
      },
    };
    this.aggregate = new Aggregate(own, undefined, {
      allServers: () => servers.all(),
      isAllowed: (server, tool) => this.#filter.isAllowed(server, tool),
    });
    this.search = tagsOf && new ToolSearch({ aggregate: this.aggregate, tagsOf });
    this.discovery = new Discovery(this.aggregate, () => options.areListsUsed?.(this) === true);
  }

  /** Returns true if the profile contains the server. */
  has(server: string): boolean {
    return this.#filter.servers.has(server);
  }

  /** Returns the servers in catalog order, including disabled servers. */
  servers(): readonly ManagedServer[] {
    const all = this.#options.servers.all();
    if (all !== this.#all) {
      this.#all = all;
      this.#own = all.filter(({ id }) => this.has(id));
    }
    return this.#own;
  }

  /** Replaces the filter. */
  redefine(filter: ProfileFilter): void {
    this.#filter = filter;
    // Makes `servers` apply the new filter.
    this.#all = [];
    this.#version += 1;
  }
}
