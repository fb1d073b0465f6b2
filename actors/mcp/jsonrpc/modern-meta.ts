// What revision 2026-07-28 says with every message instead of once per session, and how a message is carried from one
// era into the other: a request gains or loses its metadata, a result gains or loses what only one era knows.
//
// MO1  beyond those members a message stays as it was received, byte for byte.

import { applyEdits } from './apply-edits.ts';
import { type Envelope, PROTOCOL_VERSION } from './envelope.ts';
import {
  addFirst,
  type Changes,
  changeFound,
  changeMembers,
  memberOf,
  membersOf,
  noChanges,
  rawMembers,
} from './members.ts';
import { readServerMessage } from './read-message.ts';
import { type Edit, holds, rawJson, rawOf, type Span, whole } from './span.ts';

/** Legacy: sessions and `initialize`, up to 2025-11-25. Modern: stateless requests, from 2026-07-28 on. */
export type Era = 'legacy' | 'modern';

/** Eras that a server speaks; at least one is true. */
export type Eras = Readonly<Record<Era, boolean>>;

export const modernVersion = '2026-07-28';

const BRACE = 0x7b;

/** Members of `_meta` that the specification reserves (2026-07-28, "General fields"). */
export const metaKeys = {
  protocolVersion: PROTOCOL_VERSION,
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const;

/** Who is asking, as a modern server wants to know it with each request. */
export interface Caller {
  readonly clientInfo: unknown;
  readonly capabilities: unknown;
  readonly logLevel?: string | undefined;
}

/** The metadata of a modern request of `caller`, for a request that the gateway writes itself. */
export function modernMeta(caller: Caller): Record<string, unknown> {
  return {
    [metaKeys.protocolVersion]: modernVersion,
    [metaKeys.clientInfo]: caller.clientInfo,
    [metaKeys.clientCapabilities]: caller.capabilities,
    ...(caller.logLevel === undefined ? {} : { [metaKeys.logLevel]: caller.logLevel }),
  };
}

/** What a modern request says of who asks: the members of its `_meta`, as they are written. */
export interface RawMeta {
  /** What the client may have said itself of the same. */
  readonly keys: Changes;
  readonly members: string;
}

const metaKeysOfAll: Changes = {
  [metaKeys.protocolVersion]: undefined,
  [metaKeys.clientInfo]: undefined,
  [metaKeys.clientCapabilities]: undefined,
};
const metaKeysWithLevel: Changes = { ...metaKeysOfAll, [metaKeys.logLevel]: undefined };

/** As `modernMeta`, of texts: whoever sends many requests for the same client writes nothing anew. */
export function rawMetaOf(rawInfo: string, rawCapabilities: string, logLevel: string | undefined): RawMeta {
  const members = `"${metaKeys.protocolVersion}":"${modernVersion}","${metaKeys.clientInfo}":${rawInfo},"${metaKeys.clientCapabilities}":${rawCapabilities}`;
  if (logLevel === undefined) return { keys: metaKeysOfAll, members };
  return { keys: metaKeysWithLevel, members: `${members},"${metaKeys.logLevel}":${rawJson(logLevel)}` };
}

/** A request of a legacy client, or a retry of it, as a modern server expects it. `more` are members for `params`. */
export function toModern(envelope: Envelope, caller: Caller, more?: Changes): Envelope {
  const { clientInfo, capabilities, logLevel } = caller;
  const edits = modernEdits(envelope, rawMetaOf(rawJson(clientInfo), rawJson(capabilities), logLevel), more);
  return edits.length === 0 ? envelope : readServerMessage(whole(applyEdits(envelope.bytes, edits)));
}

/** Returns the edits of `toModern`. `more` are changes of `params`, except `_meta`. */
export function modernEdits(envelope: Envelope, meta: RawMeta, more: Changes = noChanges): Edit[] {
  const { bytes, params } = envelope;
  if (params === undefined) {
    const message = { start: bytes.indexOf(BRACE), end: bytes.length };
    const members = rawMembers({ _meta: `{${meta.members}}`, ...more });
    return changeMembers(bytes, message, { params: `{${members}}` });
  }
  // A list has no room for metadata; JSON-RPC knows such params, and whoever serves MCP refuses them.
  if (bytes[params.start] !== BRACE) return [];
  const own = envelope.param('_meta');
  if (own === undefined && more === noChanges) return [addFirst(bytes, params, `"_meta":{${meta.members}}`)];
  if (own === undefined || bytes[own.start] !== BRACE)
    return changeMembers(bytes, params, { ...more, _meta: `{${meta.members}}` });
  const edits = changeFound(own, membersOf(bytes, own), meta.keys, meta.members);
  return more === noChanges ? edits : [...edits, ...changeMembers(bytes, params, more)];
}

const ofRetries: Changes = { inputResponses: undefined, requestState: undefined };

/**
 * Returns the edits that convert a modern request to the legacy era. Dual-era servers must not read the result as modern.
 * `more` are changes of `params`, except `_meta`.
 */
export function legacyEdits(envelope: Envelope, more: Changes = noChanges): Edit[] {
  const { bytes, params } = envelope;
  if (params === undefined || bytes[params.start] !== BRACE) return [];
  const own = envelope.param('_meta');
  const edits = own === undefined || bytes[own.start] !== BRACE ? [] : withoutMeta(envelope, own);
  // Only a retry has these; any other request need not be looked through.
  const isRetry =
    envelope.param('inputResponses') !== undefined || envelope.param('requestState') !== undefined;
  if (!isRetry && more === noChanges) return edits;
  return [...edits, ...changeMembers(bytes, params, isRetry ? { ...more, ...ofRetries } : more)];
}

function withoutMeta(envelope: Envelope, own: Span): Edit[] {
  // Most clients say nothing else, and then its members need not be looked for again.
  if (envelope.hasMetaOnlyOf(metaKeysWithLevel))
    return [{ start: own.start + 1, end: own.end - 1, text: '' }];
  return changeMembers(envelope.bytes, own, metaKeysWithLevel);
}

/** How long a result may be kept, in milliseconds, and by whom. */
interface Hint {
  readonly ttlMs: number;
  readonly scope: string;
}

/**
 * What a modern client expects in a result of the gateway's own: raw JSON of members, without braces. `rawMeta` is more for
 * `_meta`.
 */
export function completeMembers(
  serverInfo: unknown,
  hint: Hint | undefined,
  { hasType = false, rawMeta = '' } = {},
): string {
  const cache = hint === undefined ? '' : `"ttlMs":${hint.ttlMs},"cacheScope":${rawJson(hint.scope)},`;
  const type = hasType ? '' : '"resultType":"complete",';
  return `${type}${cache}"_meta":{${rawJson(metaKeys.serverInfo)}:${rawJson(serverInfo)}${rawMeta === '' ? '' : `,${rawMeta}`}}`;
}

/** A result of the gateway's own, given as raw JSON of an object, as a modern client expects it. */
export function completeResult(rawResult: string, serverInfo: unknown, hint: Hint | undefined): string {
  // Where it says so itself it says so first; anywhere else the word may be one of the server's own.
  const hasType = rawResult.startsWith('{"resultType":');
  const head = `{${completeMembers(serverInfo, hint, { hasType })}`;
  return rawResult === '{}' ? `${head}}` : `${head},${rawResult.slice(1)}`;
}

/** The `resultType` of an answer; a result without one is complete, as the specification has it. Never throws. */
export function resultType(answer: Envelope): string | undefined {
  const { bytes, result } = answer;
  if (result === undefined) return undefined;
  const span = memberOf(bytes, result, 'resultType');
  if (span === undefined) return 'complete';
  const type: unknown = JSON.parse(rawOf(bytes, span));
  return typeof type === 'string' ? type : undefined;
}

const INPUT_REQUIRED = 'input_required';

/** Whether the answer asks its client for something. Most do not, and need not be looked through. */
export function asksForInput(answer: Envelope): boolean {
  if (answer.result === undefined) return false;
  const mayBe = holds(answer.message, INPUT_REQUIRED) || holds(answer.message, '\\u');
  return mayBe && resultType(answer) === INPUT_REQUIRED;
}
