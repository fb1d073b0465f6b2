// Implements the search tools find_tools, describe_tool and call_tool, which replace the list of tools with
// `expose: search`. The first two are answered from the lists of all servers. A call_tool becomes a plain
// tools/call of the named tool, so progress, errors and structured results come from the server. The tool's
// arguments are forwarded byte for byte; other params (`_meta`, the state of a retry) remain. Tools hidden by
// `tools: { allow, deny }` cannot be found, described or called. Invalid arguments produce a result with
// isError, which models see and can correct.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { replaceLoneSurrogates } from '../../jsonrpc/lone-surrogates.ts';
import { type Edit, rawJson, replaceSpan } from '../../jsonrpc/span.ts';
import { itemJson } from '../../servers/lists/lists.ts';
import type { Aggregate, MergedItem } from '../aggregate/aggregate.ts';
import type { ResolvedTarget } from '../aggregate/resolution.ts';
import { isSearchTool } from './definitions.ts';
import { BadArguments, readCallArguments, readFindArguments, readName } from './tool-arguments.ts';
import { type ToolHit, ToolIndex } from './tool-index.ts';

/** The tool call in a `call_tool`: its server, and the edits that convert the message. */
export interface TargetCall {
  readonly target: ResolvedTarget;
  readonly edits: readonly Edit[];
}

/** Response to a search tool: a call to forward, or a result as raw JSON in Latin-1. */
export type SearchResponse = TargetCall | { readonly rawResult: string };

export interface ToolSearchOptions {
  readonly aggregate: Aggregate;
  /** Returns a server's tags in the current catalog. */
  tagsOf(server: string): readonly string[];
}

/** Maximum length of a description in the results of find_tools. */
const MAX_DESCRIPTION = 300;
/** Maximum number of names in a hint. */
const MAX_NAMED = 20;

export class ToolSearch {
  readonly #aggregate: Aggregate;
  readonly #tagsOf: (server: string) => readonly string[];
  readonly #index: ToolIndex;

  constructor({ aggregate, tagsOf }: ToolSearchOptions) {
    this.#aggregate = aggregate;
    this.#tagsOf = tagsOf;
    this.#index = new ToolIndex(() => aggregate.tools());
  }

  /**
   * Returns the tool call in a `call_tool` request. Returns undefined for other requests, and if
   * the tool is unknown or the arguments are invalid.
   */
  target(envelope: Envelope): TargetCall | undefined {
    if (envelope.paramText('name') !== 'call_tool') return undefined;
    const answer = this.answer(envelope);
    return 'target' in answer ? answer : undefined;
  }

  /** Answers a search tool's `tools/call`; invalid arguments are an error result. */
  answer(envelope: Envelope): SearchResponse {
    try {
      switch (envelope.paramText('name')) {
        case 'find_tools':
          return this.#find(envelope);
        case 'describe_tool':
          return this.#describe(envelope);
        default:
          return this.#call(envelope);
      }
    } catch (error) {
      if (error instanceof BadArguments) return errorResult(error.message);
      throw error;
    }
  }

  #find(envelope: Envelope): SearchResponse {
    const { query, server, tags, limit } = readFindArguments(envelope);
    const isWanted = (id: string) =>
      (server === undefined || id === server) &&
      (tags.length === 0 || this.#tagsOf(id).some((tag) => tags.includes(tag)));
    const hits = this.#index.find({ query, isWanted });
    const tools = hits.slice(0, limit).map((hit) => this.#describeHit(hit));
    const hints = [this.#hint(query, hits, tools.length, server, tags), this.#missingHint()];
    const hint = hints.filter((each) => each !== undefined).join('; ') || undefined;
    const output = { tools, total: hits.length, ...(hint === undefined ? {} : { hint }) };
    return result(JSON.stringify(output), rawJson(output));
  }

  /** Returns a hint about servers with unknown tools. */
  #missingHint(): string | undefined {
    const servers = this.#aggregate.incomplete('tools');
    return servers.length === 0
      ? undefined
      : `some tools of ${joinNames(servers)} are not known yet; try again later`;
  }

  #describeHit({ tool, score }: ToolHit): Record<string, unknown> {
    const { listing, title, description } = tool;
    const tags = this.#tagsOf(listing.server.id);
    return {
      name: listing.name,
      ...(title === undefined ? {} : { title }),
      ...(description === undefined ? {} : { description: shorten(description) }),
      server: listing.server.id,
      ...(tags.length === 0 ? {} : { tags }),
      score,
    };
  }

  /** Returns counts by server if the query is empty, and advice if nothing was found. */
  #hint(
    query: string,
    hits: readonly ToolHit[],
    shownCount: number,
    server: string | undefined,
    tags: readonly string[],
  ): string | undefined {
    if (hits.length > 0) {
      if (query.trim() !== '') return undefined;
      const rest =
        hits.length > shownCount ? `; shown: ${shownCount}; use a query or a filter to find the others` : '';
      return `${countsByServer(hits)}${rest}`;
    }
    const servers = [...this.#aggregate.servers()].map(({ id }) => id);
    if (server !== undefined && !servers.includes(server))
      return `there is no server ${quote(server)}; there are ${joinNames(servers)}`;
    const knownTags = [...new Set(servers.flatMap((id) => this.#tagsOf(id)))].sort();
    if (tags.length > 0 && !tags.some((tag) => knownTags.includes(tag)))
      return knownTags.length === 0
        ? 'no server has tags'
        : `no server has such a tag; there are ${joinNames(knownTags)}`;
    const isNarrowed = server !== undefined || tags.length > 0;
    return `nothing found; try other words${isNarrowed ? ', omit server and tags' : ''}, or an empty query to list tools`;
  }

  #describe(envelope: Envelope): SearchResponse {
    const name = readName(envelope, 'describe_tool');
    const tool = this.#aggregate.tools().get(name);
    if (tool === undefined) return this.#unknown(name);
    const json = itemJson(tool.item, tool.name);
    return result(json, `{"tool":${Buffer.from(json, 'utf8').toString('latin1')}}`);
  }

  #call(envelope: Envelope): SearchResponse {
    const { name, argumentsSpan, rawInner } = readCallArguments(envelope);
    const target: MergedItem | undefined = this.#aggregate.tools().get(name);
    const span = envelope.param('name');
    if (target === undefined || span === undefined) return this.#unknown(name);
    // Replaces `call_tool` and its arguments with the server's own tool name and the tool's arguments.
    const edits = [replaceSpan(span, rawJson(target.key)), replaceSpan(argumentsSpan, rawInner)];
    return { target, edits };
  }

  #unknown(name: string): SearchResponse {
    if (isSearchTool(name)) return errorResult(`call ${name} directly, not through call_tool`);
    const near = this.#index.near(name);
    const advice = near.length === 0 ? 'use find_tools to find the name' : `did you mean ${near.join(', ')}?`;
    return errorResult(`there is no tool ${quote(name)}; ${advice}`);
  }
}

/** Returns a result: `text` for models, `rawStructured` the same data for programs. */
function result(text: string, rawStructured: string): SearchResponse {
  const content = rawJson([{ type: 'text', text }]);
  return { rawResult: replaceLoneSurrogates(`{"content":${content},"structuredContent":${rawStructured}}`) };
}

function errorResult(text: string): SearchResponse {
  return { rawResult: replaceLoneSurrogates(rawJson({ content: [{ type: 'text', text }], isError: true })) };
}

function countsByServer(hits: readonly ToolHit[]): string {
  const counts = new Map<string, number>();
  for (const { tool } of hits)
    counts.set(tool.listing.server.id, (counts.get(tool.listing.server.id) ?? 0) + 1);
  const each = joinNames([...counts].map(([id, count]) => `${id} (${count})`));
  return `${hits.length} ${hits.length === 1 ? 'tool' : 'tools'}: ${each}`;
}

function joinNames(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  return names.slice(0, MAX_NAMED).join(', ') + more;
}

function quote(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}

/** Returns the beginning, cut at white space if possible, never inside a character. */
function shorten(text: string): string {
  if (text.length <= MAX_DESCRIPTION) return text;
  const cut = text.slice(0, MAX_DESCRIPTION).replace(/[\uD800-\uDBFF]$/, '');
  const space = cut.search(/\s\S*$/);
  return `${cut.slice(0, space > MAX_DESCRIPTION - 40 ? space : cut.length).trimEnd()}…`;
}
