// Looks up names and resource addresses for one client of an address of several servers (/mcp, /mcp/@NAME):
// in the lists for this client, in the resources that servers named in its results, and among the tools that
// apps (HTML interfaces of tools) call by the servers' own names.

import type { ManagedServer } from '../../servers/managed-server.ts';
import { isForApps, pagesOf, qualify } from '../aggregate/address-form.ts';
import type { Aggregate } from '../aggregate/aggregate.ts';
import type { NamedResources } from '../aggregate/named-resources.ts';
import type { NameLookup, ResolvedTarget } from '../aggregate/resolution.ts';

export class ClientNames implements NameLookup {
  readonly #view: Aggregate;
  readonly #named: NamedResources;

  constructor(view: Aggregate, named: NamedResources) {
    this.#view = view;
    this.#named = named;
  }

  find(kind: 'tools' | 'prompts', name: string): ResolvedTarget | undefined {
    return this.#view.find(kind, name);
  }

  findUnlisted(kind: 'tools' | 'prompts', name: string): ResolvedTarget | undefined {
    return this.#view.findUnlisted(kind, name) ?? (kind === 'tools' ? this.#findAppTool(name) : undefined);
  }

  findResource(uri: string): ResolvedTarget | undefined {
    const listed = this.#view.findListedResource(uri);
    if (listed !== undefined) return listed;
    const id = this.#named.find(uri);
    for (const server of id === undefined ? [] : this.#view.servers())
      if (server.id === id) return { server, key: uri };
    return this.#view.findResource(uri);
  }

  findTemplate(template: string): ResolvedTarget | undefined {
    return this.#view.findTemplate(template);
  }

  /**
   * Returns the client's address for a resource that the server named. An address that no other server has is
   * not changed, and the client's requests for it go to this server. Other addresses are qualified: they get
   * the server id (address-form.ts).
   */
  nameOf(server: ManagedServer, uri: string): string {
    const isPlain = !this.#view.isAmbiguous(uri) && this.#ownerOf(server, uri) === server.id;
    return isPlain ? uri : (qualify(server.id, uri) ?? uri);
  }

  /** Returns the server that keeps the address: `server`, or an earlier one. Records a new address. */
  #ownerOf(server: ManagedServer, uri: string): string {
    const listed = this.#view.ownerOf(uri)?.id;
    if (listed !== undefined) return listed;
    const named = this.#named.find(uri);
    if (named !== undefined && this.#hasServer(named)) return named;
    this.#named.add(uri, server.id);
    return server.id;
  }

  /**
   * Returns the tool that an app calls by the tool's own name, without the server's prefix. Only servers with
   * pages have apps. If several servers have such a tool, the client must have used pages of exactly one
   * server. Otherwise the target is unknown.
   */
  #findAppTool(name: string): ResolvedTarget | undefined {
    const candidates = [...this.#view.servers()].filter((server) => this.#hasAppTool(server, name));
    const used = candidates.filter(({ id }) => this.#named.hasApp(id));
    const [only, ...others] = candidates.length === 1 ? candidates : used;
    return only === undefined || others.length > 0 ? undefined : { server: only, key: name };
  }

  #hasAppTool(server: ManagedServer, name: string): boolean {
    const { tools = [] } = this.#view.listsOf(server).lists;
    const tool = tools.find(({ key }) => key === name);
    if (tool === undefined || !this.#view.isVisible(server, tool) || !isForApps(tool)) return false;
    return this.#named.hasApp(server.id) || tools.some((item) => pagesOf(item).length > 0);
  }

  #hasServer(id: string): boolean {
    for (const server of this.#view.servers()) if (server.id === id) return true;
    return false;
  }
}
