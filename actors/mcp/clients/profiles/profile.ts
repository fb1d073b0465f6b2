// A profile: a part of the servers and of their tools, as one, at an address of its own. It is to the clients there what the
// gateway as a whole is to those at /mcp, with lists, search, notices and figures of its own.
//
// PFL1  what is listed can be called, read, subscribed to and completed, and nothing of what is outside: of that the client is
//       told what it would be told of a name that nobody has.
// PFL2  nothing of a server outside reaches a client inside, but what belongs to a call that was begun while it was inside.
// PFL3  a name is the same as at /mcp.

import type { ManagedServer } from '../../servers/managed-server.ts';
import { Aggregate, type ServerSource } from '../aggregate/aggregate.ts';
import { Discovery } from '../aggregate/discovery.ts';
import { ListChanges } from '../aggregate/list-changes.ts';
import { ToolSearch } from '../search/tool-search.ts';
import type { ProfileFilter } from './profile-filter.ts';

/** What clients at one address see as one: all servers, or those of a profile. */
export interface View {
  readonly aggregate: Aggregate;
  readonly discovery: Discovery;
  /** Set under `expose: search`. */
  readonly search: ToolSearch | undefined;
}

/** Address of a client: one server, a profile, or, with neither, all servers. */
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
  /** The tags of a server; undefined where clients do not search. */
  readonly tagsOf: ((server: string) => readonly string[]) | undefined;
}

export class Profile implements View {
  readonly name: string;
  readonly aggregate: Aggregate;
  readonly discovery: Discovery;
  readonly search: ToolSearch | undefined;
  /** What its clients are to be told of changed lists. */
  readonly changes = new ListChanges();
  /** Requests of its clients, as GET /stats shows them. */
  readonly counts = { total: 0, failed: 0, in_flight: 0 };
  readonly #options: ProfileOptions;
  #filter: ProfileFilter;
  #version = 0;
  /** The servers that were there when it was last asked who belongs to it, and those of them that do. */
  #all: readonly ManagedServer[] = [];
  #own: readonly ManagedServer[] = [];

  constructor(options: ProfileOptions) {
    const { tagsOf, servers } = options;
    this.name = options.name;
    this.#options = options;
    this.#filter = options.filter;
    const revision = () => servers.revision + this.#version;
    const own: ServerSource = {
      all: () => this.servers(),
      get revision() {
        return revision();
      },
    };
    this.aggregate = new Aggregate(own, undefined, {
      everyone: () => servers.all(),
      isAllowed: (server, tool) => this.#filter.isAllowed(server, tool),
    });
    this.search = tagsOf && new ToolSearch({ aggregate: this.aggregate, tagsOf });
    this.discovery = new Discovery(this.aggregate);
  }

  /** Whether the server of that id belongs to it. */
  has(server: string): boolean {
    return this.#filter.servers.has(server);
  }

  /** Its servers in the order of the catalog, those switched off included. */
  servers(): readonly ManagedServer[] {
    const all = this.#options.servers.all();
    if (all !== this.#all) {
      this.#all = all;
      this.#own = all.filter(({ id }) => this.has(id));
    }
    return this.#own;
  }

  /** From now on it is this. */
  redefine(filter: ProfileFilter): void {
    this.#filter = filter;
    this.#all = [];
    this.#version += 1;
  }
}
