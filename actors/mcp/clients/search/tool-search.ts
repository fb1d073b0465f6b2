// Carries out find_tools, describe_tool and call_tool. The first two are answered from the lists; a call_tool becomes
// the plain tools/call that it stands for, so that progress, errors and structured results are the server's own.
//
// T1  the tool's arguments go on byte for byte; whatever else is in params (`_meta`, a retry's state) stays.
// T2  what is hidden by `tools: { allow, deny }` is neither found, described nor called.
// T3  a mistake in the arguments is a result with isError, which models see and can mend, not a protocol error.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { type Edit, rawJson, replacing } from '../../jsonrpc/span.ts';
import { withoutHalves } from '../../jsonrpc/well-formed.ts';
import { itemJson } from '../../servers/lists/lists.ts';
import type { Aggregate, Shown } from '../aggregate/aggregate.ts';
import type { Target } from '../aggregate/resolution.ts';
import { isSearchTool } from './search-tools.ts';
import { BadArguments, readCallArguments, readFindArguments, readName } from './tool-arguments.ts';
import { type ToolHit, ToolIndex } from './tool-index.ts';

/** The call that a `call_tool` stands for: the server, and the changes that make the message one it understands. */
export interface TargetCall {
  readonly target: Target;
  readonly edits: readonly Edit[];
}

/** What an asking comes to: a call to forward, or a result to give, as raw JSON in Latin-1. */
export type SearchResponse = TargetCall | { readonly rawResult: string };

export interface ToolSearchOptions {
  readonly aggregate: Aggregate;
  /** The tags of a server in the catalog now in force. */
  tagsOf(server: string): readonly string[];
}

const MAX_SHOWN = 300;
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

  /** The call that a `call_tool` stands for; undefined when it is none, or none to a tool that is known. Never throws. */
  target(envelope: Envelope): TargetCall | undefined {
    if (envelope.paramText('name') !== 'call_tool') return undefined;
    const answer = this.answer(envelope);
    return 'target' in answer ? answer : undefined;
  }

  /** Answers a `tools/call` of one of the three tools. Never throws. */
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
      if (error instanceof BadArguments) return mistake(error.message);
      throw error;
    }
  }

  #find(envelope: Envelope): SearchResponse {
    const { query, server, tags, limit } = readFindArguments(envelope);
    const isWanted = (id: string) =>
      (server === undefined || id === server) &&
      (tags.length === 0 || this.#tagsOf(id).some((tag) => tags.includes(tag)));
    const hits = this.#index.find({ query, isWanted });
    const shown = hits.slice(0, limit).map((hit) => this.#shownHit(hit));
    const hints = [this.#hint(query, hits, shown.length, server, tags), this.#missingHint()];
    const hint = hints.filter((each) => each !== undefined).join('; ') || undefined;
    const found = { tools: shown, total: hits.length, ...(hint === undefined ? {} : { hint }) };
    return result(JSON.stringify(found), rawJson(found));
  }

  /** What is not known cannot be found. */
  #missingHint(): string | undefined {
    const servers = this.#aggregate.incomplete('tools');
    return servers.length === 0
      ? undefined
      : `not all tools are known of ${listed(servers)}; try again later`;
  }

  #shownHit({ tool, score }: ToolHit): Record<string, unknown> {
    const { shown, title, description } = tool;
    const tags = this.#tagsOf(shown.server.id);
    return {
      name: shown.name,
      ...(title === undefined ? {} : { title }),
      ...(description === undefined ? {} : { description: beginning(description) }),
      server: shown.server.id,
      ...(tags.length === 0 ? {} : { tags }),
      score,
    };
  }

  #hint(
    query: string,
    hits: readonly ToolHit[],
    shown: number,
    server: string | undefined,
    tags: readonly string[],
  ): string | undefined {
    if (hits.length > 0) {
      if (query.trim() !== '') return undefined;
      const rest = hits.length > shown ? `; shown: ${shown}; a query or a filter finds the others` : '';
      return `${countsByServer(hits)}${rest}`;
    }
    const servers = [...this.#aggregate.servers()].map(({ id }) => id);
    if (server !== undefined && !servers.includes(server))
      return `there is no server ${quoted(server)}; there are ${listed(servers)}`;
    const known = [...new Set(servers.flatMap((id) => this.#tagsOf(id)))].sort();
    if (tags.length > 0 && !tags.some((tag) => known.includes(tag)))
      return known.length === 0
        ? 'no server has tags'
        : `no server has such a tag; there are ${listed(known)}`;
    const isNarrowed = server !== undefined || tags.length > 0;
    return `nothing found; try other words${isNarrowed ? ', leave out server and tags' : ''}, or an empty query to list tools`;
  }

  #describe(envelope: Envelope): SearchResponse {
    const name = readName(envelope, 'describe_tool');
    const shown = this.#aggregate.tools().get(name);
    if (shown === undefined) return this.#unknown(name);
    const json = itemJson(shown.item, shown.name);
    return result(json, `{"tool":${Buffer.from(json, 'utf8').toString('latin1')}}`);
  }

  #call(envelope: Envelope): SearchResponse {
    const { name, outer, rawInner } = readCallArguments(envelope);
    const target: Shown | undefined = this.#aggregate.tools().get(name);
    const span = envelope.param('name');
    if (target === undefined || span === undefined) return this.#unknown(name);
    const edits = [replacing(span, rawJson(target.key)), replacing(outer, rawInner)];
    return { target, edits };
  }

  #unknown(name: string): SearchResponse {
    if (isSearchTool(name)) return mistake(`${name} is called by itself, not through another tool`);
    const near = this.#index.near(name);
    const advice = near.length === 0 ? 'find_tools finds the names' : `did you mean ${near.join(', ')}?`;
    return mistake(`there is no tool ${quoted(name)}; ${advice}`);
  }
}

/** `text` is for models that read text, `rawStructured` the same for programs. */
function result(text: string, rawStructured: string): SearchResponse {
  const content = rawJson([{ type: 'text', text }]);
  return { rawResult: withoutHalves(`{"content":${content},"structuredContent":${rawStructured}}`) };
}

function mistake(text: string): SearchResponse {
  return { rawResult: withoutHalves(rawJson({ content: [{ type: 'text', text }], isError: true })) };
}

function countsByServer(hits: readonly ToolHit[]): string {
  const counts = new Map<string, number>();
  for (const { tool } of hits) counts.set(tool.shown.server.id, (counts.get(tool.shown.server.id) ?? 0) + 1);
  const each = listed([...counts].map(([id, count]) => `${id} (${count})`));
  return `${hits.length} ${hits.length === 1 ? 'tool' : 'tools'}: ${each}`;
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  return names.slice(0, MAX_NAMED).join(', ') + more;
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}

/** Cut between words where one ends in reach, and never inside a character. */
function beginning(text: string): string {
  if (text.length <= MAX_SHOWN) return text;
  const cut = text.slice(0, MAX_SHOWN).replace(/[\uD800-\uDBFF]$/, '');
  const space = cut.search(/\s\S*$/);
  return `${cut.slice(0, space > MAX_SHOWN - 40 ? space : cut.length).trimEnd()}…`;
}
