// The tools of a server in the inspector, as far as they are known: nothing is asked of a server to show them. Those that clients
// may not see (`tools: { allow, deny }`) are not there, as everywhere.

import { NotFoundError } from '../../../actors/base/errors/errors.ts';
import { redactedJson } from '../../../actors/base/errors/redacted-json.ts';
import type { Gateway } from '../../../actors/gateway/gateway.ts';
import { cutMessages } from '../../../actors/mcp/servers/lists/bounded-list.ts';
import { itemJson, type ListItem } from '../../../actors/mcp/servers/lists/lists.ts';
import type { ManagedServer } from '../../../actors/mcp/servers/managed-server.ts';
import type { ToolDetails, ToolList, ToolRow } from '../wire/tool-wire.ts';

const MAX_ROWS = 200;
const MAX_TITLE = 200;
const MAX_DESCRIPTION = 20_000;
/** The protocol asks for 128 characters. */
const MAX_NAME = 256;
/** Of the whole tool as JSON. */
const MAX_TOOL = 400_000;

type Members = Readonly<Record<string, unknown>>;

export class ToolDesk {
  readonly #gateway: Pick<Gateway, 'redactor' | 'mcp'>;

  constructor(gateway: Pick<Gateway, 'redactor' | 'mcp'>) {
    this.#gateway = gateway;
  }

  /** Those whose names hold each of these words. Throws UnknownServerError. */
  list(id: string, filter: string): ToolList {
    const server = this.#gateway.mcp.servers.require(id);
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    const all = this.#shown(server);
    const matching = all.filter(({ key }) => words.every((word) => key.toLowerCase().includes(word)));
    const { cuts } = server.cache;
    return {
      is_known: isKnown(server),
      tools: matching.slice(0, MAX_ROWS).map(this.#row),
      matching: matching.length,
      total: all.length,
      cut: cuts.tools === undefined ? null : cutMessages[cuts.tools],
    };
  }

  /** Throws UnknownServerError and NotFoundError. */
  details(id: string, name: string): ToolDetails {
    const server = this.#gateway.mcp.servers.require(id);
    const item = this.#shown(server).find(({ key }) => key === name);
    if (item === undefined)
      throw new NotFoundError(
        isKnown(server)
          ? `the server has no tool ${JSON.stringify(name.slice(0, 100))}`
          : 'whether the server has this tool is known when it has run',
      );
    const row = this.#row(item);
    const nothing = { ...row, description: '', hints: [], input_schema: null };
    if (sizeOf(item) > MAX_TOOL) return { ...nothing, schema_problem: 'the schema is too large to be shown' };
    try {
      const { description, inputSchema, annotations } = membersOf(item);
      return {
        ...row,
        description: this.#text(description, MAX_DESCRIPTION),
        hints: isObject(annotations) ? hintsIn(annotations) : [],
        input_schema: isObject(inputSchema) ? redactedJson(inputSchema, this.#redact) : null,
        schema_problem: isObject(inputSchema) ? null : 'the server gives no schema of the arguments',
      };
    } catch {
      return { ...nothing, schema_problem: 'the schema is nested too deeply to be shown' };
    }
  }

  readonly #redact = (text: string): string => this.#gateway.redactor.redact(text);

  /** A name that no address can hold, or nobody reads, is left out. */
  #shown(server: ManagedServer): readonly ListItem[] {
    return (server.cache.lists.tools ?? []).filter(
      (item) =>
        item.key !== '' &&
        item.key.length <= MAX_NAME &&
        item.key.isWellFormed() &&
        this.#gateway.mcp.clients.view.aggregate.isShown(server, item),
    );
  }

  readonly #row = (item: ListItem): ToolRow => {
    const { title } = sizeOf(item) > MAX_TOOL ? {} : membersOf(item);
    return { name: item.key, title: this.#text(title, MAX_TITLE) || null };
  };

  #text(value: unknown, most: number): string {
    return typeof value === 'string' ? this.#gateway.redactor.excerpt(value, most) : '';
  }
}

/** Whether the server was asked for its tools. */
function isKnown({ cache }: ManagedServer): boolean {
  return cache.lists.tools !== undefined || cache.isLearnt;
}

const sizeOf = ({ before, after }: ListItem) => before.length + after.length;
const membersOf = (item: ListItem) => JSON.parse(itemJson(item)) as Members;

function hintsIn({ readOnlyHint, destructiveHint, idempotentHint, openWorldHint }: Members): string[] {
  return [
    ...(readOnlyHint === true ? ['only reads'] : []),
    ...(readOnlyHint !== true && destructiveHint === true ? ['may destroy'] : []),
    ...(idempotentHint === true ? ['may be repeated'] : []),
    ...(openWorldHint === true ? ['reaches beyond this machine'] : []),
  ];
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
