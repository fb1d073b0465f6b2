// Reads the arguments of the three search tools from a `tools/call`, strictly: an error says what is wrong in words that
// a model can act on. Which members count is decided on the bytes, since one of them is the arguments of another tool.

import { suggest } from '../../../../config/reader/suggest.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { membersOf } from '../../jsonrpc/members.ts';
import { rawOf, type Span } from '../../jsonrpc/span.ts';
import {
  argumentNames,
  DEFAULT_LIMIT,
  MAX_LIMIT,
  MAX_QUERY_LENGTH,
  type SearchToolName,
} from './search-tools.ts';

/** The arguments are not what the tool takes; the message says what is wrong. */
export class BadArguments extends Error {}

export interface FindArguments {
  readonly query: string;
  readonly server: string | undefined;
  readonly tags: readonly string[];
  readonly limit: number;
}

const BRACE = 0x7b;

/** The arguments of `find_tools`. Throws BadArguments. */
export function readFindArguments(envelope: Envelope): FindArguments {
  const given = membersBySpan(envelope, 'find_tools');
  const value = (name: string) => envelope.parse(given.get(name));
  const query = value('query');
  if (typeof query !== 'string') throw wrong('query', 'text; "" lists all tools', query);
  if (query.length > MAX_QUERY_LENGTH)
    throw new BadArguments(`query must have at most ${MAX_QUERY_LENGTH} characters; a few words find more`);
  const server = value('server');
  if (server !== undefined && typeof server !== 'string') throw wrong('server', 'the id of a server', server);
  const tags = value('tags') ?? [];
  if (!Array.isArray(tags) || !tags.every((tag): tag is string => typeof tag === 'string'))
    throw wrong('tags', 'a list of texts', tags);
  const limit = value('limit') ?? DEFAULT_LIMIT;
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw wrong('limit', `a whole number from 1 to ${MAX_LIMIT}`, limit);
  return { query, server, tags, limit };
}

/** The argument `name` of `describe_tool` and `call_tool`. Throws BadArguments. */
export function readName(envelope: Envelope, tool: 'describe_tool' | 'call_tool'): string {
  return nameIn(envelope, membersBySpan(envelope, tool));
}

export interface CallArguments {
  readonly name: string;
  /** Where `params.arguments` stands. */
  readonly outer: Span;
  /** The arguments for the tool itself, as raw JSON in Latin-1. */
  readonly rawInner: string;
}

/** What `call_tool` is to call. Throws BadArguments. */
export function readCallArguments(envelope: Envelope): CallArguments {
  const given = membersBySpan(envelope, 'call_tool');
  const name = nameIn(envelope, given);
  const inner = given.get('arguments');
  if (inner !== undefined && envelope.bytes[inner.start] !== BRACE)
    throw wrong('arguments', 'an object (not a text that holds one)', envelope.parse(inner));
  const outer = argumentsOf(envelope);
  if (outer === undefined) throw new BadArguments('name is missing');
  return { name, outer, rawInner: inner === undefined ? '{}' : rawOf(envelope.bytes, inner) };
}

function nameIn(envelope: Envelope, given: ReadonlyMap<string, Span>): string {
  const name = envelope.parse(given.get('name'));
  if (typeof name !== 'string' || name === '') throw wrong('name', 'the name of a tool', name);
  return name;
}

/** The members of `params.arguments`, each once and each known. */
function membersBySpan(envelope: Envelope, tool: SearchToolName): Map<string, Span> {
  const span = argumentsOf(envelope);
  if (span !== undefined && envelope.bytes[span.start] !== BRACE)
    throw wrong('arguments', 'an object', envelope.parse(span));
  const known = argumentNames(tool);
  const found = new Map<string, Span>();
  for (const { key, value } of membersOf(envelope.bytes, span)) {
    if (!known.includes(key)) throw new BadArguments(unknownArgument(tool, key, known));
    if (found.has(key)) throw new BadArguments(`${key} is given twice`);
    found.set(key, value);
  }
  return found;
}

/** A message with a second `arguments` was refused before (read-message.ts, E2). */
function argumentsOf({ bytes, params }: Envelope): Span | undefined {
  return membersOf(bytes, params).find(({ key }) => key === 'arguments')?.value;
}

function unknownArgument(tool: SearchToolName, key: string, known: readonly string[]): string {
  const shown = JSON.stringify(key.slice(0, 80));
  // The most likely mistake: the other tool's arguments beside its name instead of inside `arguments`.
  if (tool === 'call_tool')
    return `unknown argument ${shown}; the tool's own arguments belong into "arguments"`;
  const near = suggest(key, known);
  return `unknown argument ${shown}; ${near === undefined ? `${tool} takes ${known.join(', ')}` : `did you mean ${near}?`}`;
}

function wrong(name: string, expected: string, found: unknown): BadArguments {
  if (found === undefined) return new BadArguments(`${name} is missing: expected ${expected}`);
  const isPlain = found === null || typeof found === 'number' || typeof found === 'boolean';
  const shown = isPlain
    ? String(found)
    : Array.isArray(found)
      ? 'a list'
      : typeof found === 'string'
        ? 'text'
        : 'an object';
  return new BadArguments(`${name} must be ${expected}, found ${shown}`);
}
