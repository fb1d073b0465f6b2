// Lists the tools of a server for the inspector. The list comes from the cache: the server receives no
// request. Tools that are hidden from clients (`tools: { allow, deny }`) are omitted.

import { NotFoundError } from '../../../actors/base/errors/errors.ts';
import { redactJson } from '../../../actors/base/errors/redacted-json.ts';
import type { GatewayRuntime } from '../../../actors/gateway/gateway.ts';
import { cutMessages } from '../../../actors/mcp/servers/lists/bounded-list.ts';
import { itemJson, type ListItem } from '../../../actors/mcp/servers/lists/lists.ts';
import type { ManagedServer } from '../../../actors/mcp/servers/managed-server.ts';
import type { ToolDetails, ToolList, ToolRow } from '../wire/tools.ts';

const MAX_ROWS = 200;
const MAX_TITLE = 200;
const MAX_DESCRIPTION = 20_000;
/** The protocol recommends at most 128 characters. */
const MAX_NAME = 256;
/** Maximum tool size, in characters of JSON. */
const MAX_TOOL = 400_000;

type SchemaMembers = Readonly<Record<string, unknown>>;

export class ToolCatalog {
  readonly #gateway: Pick<GatewayRuntime, 'redactor' | 'mcp'>;

  constructor(gateway: Pick<GatewayRuntime, 'redactor' | 'mcp'>) {
    this.#gateway = gateway;
  }

  /** Returns the tools whose names contain all terms of the filter. Throws UnknownServerError. */
  list(id: string, filter: string): ToolList {
    const server = this.#gateway.mcp.servers.require(id);
    const terms = filter.toLowerCase().split(/\s+/).filter(Boolean);
    const all = this.#visibleTools(server);
    const matching = all.filter(({ key }) => terms.every((term) => key.toLowerCase().includes(term)));
    const { cuts } = server.cache;
    return {
      is_known: hasToolList(server),
      tools: matching.slice(0, MAX_ROWS).map(this.#row),
      matching: matching.length,
      total: all.length,
      cut: cuts.tools === undefined ? null : cutMessages[cuts.tools],
    };
  }

  /** Returns one tool with its schema. Throws UnknownServerError or NotFoundError. */
  details(id: string, name: string): ToolDetails {
    const server = this.#gateway.mcp.servers.require(id);
    const item = this.#visibleTools(server).find(({ key }) => key === name);
    if (item === undefined)
      throw new NotFoundError(
        hasToolList(server)
          ? `the server has no tool ${JSON.stringify(name.slice(0, 100))}`
          : 'the tools of the server are unknown until it has run',
      );
    const row = this.#row(item);
    const base = { ...row, description: '', hints: [], input_schema: null };
    if (sizeOf(item) > MAX_TOOL) return { ...base, schema_problem: 'the schema is too large to show' };
    try {
      const { description, inputSchema, annotations } = membersOf(item);
      return {
        ...row,
        description: this.#text(description, MAX_DESCRIPTION),
        hints: isObject(annotations) ? hintsIn(annotations) : [],
        input_schema: isObject(inputSchema) ? redactJson(inputSchema, this.#redact) : null,
        schema_problem: isObject(inputSchema) ? null : 'the server declares no schema of the arguments',
      };
    } catch {
      return { ...base, schema_problem: 'the schema is nested too deeply to show' };
    }
  }

  readonly #redact = (text: string): string => this.#gateway.redactor.redact(text);

  /** Returns the tools that clients may see, without tools whose name is empty, too long or malformed. */
  #visibleTools(server: ManagedServer): readonly ListItem[] {
    return (server.cache.lists.tools ?? []).filter(
      (item) =>
        item.key !== '' &&
        item.key.length <= MAX_NAME &&
        item.key.isWellFormed() &&
        this.#gateway.mcp.clients.view.aggregate.isVisible(server, item),
    );
  }

  readonly #row = (item: ListItem): ToolRow => {
    const { title } = sizeOf(item) > MAX_TOOL ? {} : membersOf(item);
    return { name: item.key, title: this.#text(title, MAX_TITLE) || null };
  };

  #text(value: unknown, maxChars: number): string {
    return typeof value === 'string' ? this.#gateway.redactor.excerpt(value, maxChars) : '';
  }
}

/** Returns true if the server's tools were listed. */
function hasToolList({ cache }: ManagedServer): boolean {
  return cache.lists.tools !== undefined || cache.isLearnt;
}

const sizeOf = ({ before, after }: ListItem) => before.length + after.length;
const membersOf = (item: ListItem) => JSON.parse(itemJson(item)) as SchemaMembers;

function hintsIn({ readOnlyHint, destructiveHint, idempotentHint, openWorldHint }: SchemaMembers): string[] {
  return [
    ...(readOnlyHint === true ? ['read-only'] : []),
    ...(readOnlyHint !== true && destructiveHint === true ? ['destructive'] : []),
    ...(idempotentHint === true ? ['idempotent'] : []),
    ...(openWorldHint === true ? ['open world'] : []),
  ];
}

function isObject(value: unknown): value is SchemaMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
