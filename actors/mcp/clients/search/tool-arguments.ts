// Reads and validates the arguments of the search tools (find_tools, describe_tool, call_tool) in a
// `tools/call`. Unknown arguments are errors, and the errors explain to a model how to correct the call.
// Members are read as bytes, because the arguments of the called tool are forwarded byte for byte.

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
} from './definitions.ts';

/** Invalid arguments. The message contains the correction. */
export class BadArguments extends Error {}

export interface FindArguments {
  readonly query: string;
  readonly server: string | undefined;
  readonly tags: readonly string[];
  readonly limit: number;
}

/** Byte of `{`. */
const BRACE = 0x7b;

/** Returns the arguments of `find_tools`. Throws BadArguments. */
export function readFindArguments(envelope: Envelope): FindArguments {
  const members = readMembers(envelope, 'find_tools');
  const value = (name: string) => envelope.parse(members.get(name));
  const query = value('query');
  if (typeof query !== 'string') throw invalidArgument('query', 'text ("" lists all tools)', query);
  if (query.length > MAX_QUERY_LENGTH)
    throw new BadArguments(`query must have at most ${MAX_QUERY_LENGTH} characters; a few words find more`);
  const server = value('server');
  if (server !== undefined && typeof server !== 'string')
    throw invalidArgument('server', 'the id of a server', server);
  const tags = value('tags') ?? [];
  if (!Array.isArray(tags) || !tags.every((tag): tag is string => typeof tag === 'string'))
    throw invalidArgument('tags', 'a list of strings', tags);
  const limit = value('limit') ?? DEFAULT_LIMIT;
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw invalidArgument('limit', `a whole number from 1 to ${MAX_LIMIT}`, limit);
  return { query, server, tags, limit };
}

/** Returns the argument `name` of `describe_tool` or `call_tool`. Throws BadArguments. */
export function readName(envelope: Envelope, tool: 'describe_tool' | 'call_tool'): string {
  return nameIn(envelope, readMembers(envelope, tool));
}

export interface CallArguments {
  readonly name: string;
  /** Position of `params.arguments`. */
  readonly argumentsSpan: Span;
  /** Arguments of the called tool, as raw JSON in Latin-1. */
  readonly rawInner: string;
}

/** Returns the tool call in a `call_tool`. Throws BadArguments. */
export function readCallArguments(envelope: Envelope): CallArguments {
  const members = readMembers(envelope, 'call_tool');
  const name = nameIn(envelope, members);
  const inner = members.get('arguments');
  if (inner !== undefined && envelope.bytes[inner.start] !== BRACE)
    throw invalidArgument('arguments', 'an object, not JSON as text', envelope.parse(inner));
  const argumentsSpan = argumentsOf(envelope);
  // For the compiler: without arguments, `nameIn` has already thrown.
  if (argumentsSpan === undefined) throw new BadArguments('name is missing');
  return { name, argumentsSpan, rawInner: inner === undefined ? '{}' : rawOf(envelope.bytes, inner) };
}

function nameIn(envelope: Envelope, members: ReadonlyMap<string, Span>): string {
  const name = envelope.parse(members.get('name'));
  if (typeof name !== 'string' || name === '') throw invalidArgument('name', 'the name of a tool', name);
  return name;
}

/** Returns the members of `params.arguments`. Throws BadArguments for unknown and duplicate members. */
function readMembers(envelope: Envelope, tool: SearchToolName): Map<string, Span> {
  const span = argumentsOf(envelope);
  if (span !== undefined && envelope.bytes[span.start] !== BRACE)
    throw invalidArgument('arguments', 'an object', envelope.parse(span));
  const validNames = argumentNames(tool);
  const members = new Map<string, Span>();
  for (const { key, value } of membersOf(envelope.bytes, span)) {
    if (!validNames.includes(key)) throw new BadArguments(unknownArgument(tool, key, validNames));
    if (members.has(key)) throw new BadArguments(`${key} occurs twice`);
    members.set(key, value);
  }
  return members;
}

/** Returns `params.arguments`, which occurs once (read-message.ts). */
function argumentsOf({ bytes, params }: Envelope): Span | undefined {
  return membersOf(bytes, params).find(({ key }) => key === 'arguments')?.value;
}

function unknownArgument(tool: SearchToolName, key: string, validNames: readonly string[]): string {
  const quotedKey = JSON.stringify(key.slice(0, 80));
  // A common error: the arguments of the called tool are not inside `arguments`.
  if (tool === 'call_tool')
    return `unknown argument ${quotedKey}; put the arguments of the tool into "arguments"`;
  const near = suggest(key, validNames);
  return `unknown argument ${quotedKey}; ${near === undefined ? `${tool} accepts ${validNames.join(', ')}` : `did you mean ${near}?`}`;
}

function invalidArgument(name: string, expected: string, value: unknown): BadArguments {
  if (value === undefined) return new BadArguments(`${name} is missing: expected ${expected}`);
  return new BadArguments(`${name} must be ${expected}, found ${describe(value)}`);
}

function describe(value: unknown): string {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'string' ? 'text' : 'an object';
}
