// Converts messages between the two protocol eras. In the modern era (2026-07-28) every message contains the
// metadata that legacy sessions exchange once. Therefore a request gains or loses the metadata, and a result
// gains or loses the members of the modern era. The other members remain unchanged, byte for byte.

import { applyEdits } from './apply-edits.ts';
import { type Envelope, PROTOCOL_VERSION } from './envelope.ts';
import {
  addFirst,
  type Changes,
  changeMembers,
  changeParsedMembers,
  memberOf,
  membersOf,
  noChanges,
  rawMembers,
} from './members.ts';
import { readServerMessage } from './read-message.ts';
import { containsText, type Edit, rawJson, rawOf, type Span, toBuffer } from './span.ts';

/** Legacy: sessions and `initialize`, up to 2025-11-25. Modern: stateless requests, from 2026-07-28 on. */
export type Era = 'legacy' | 'modern';

/** Eras supported by a server; at least one is true. */
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

/** Client identity in a modern request. */
export interface Caller {
  readonly clientInfo: unknown;
  readonly capabilities: unknown;
  readonly logLevel?: string | undefined;
}

/** Returns the metadata for modern requests that the gateway sends for `caller`. */
export function modernMeta(caller: Caller): Record<string, unknown> {
  return {
    [metaKeys.protocolVersion]: modernVersion,
    [metaKeys.clientInfo]: caller.clientInfo,
    [metaKeys.clientCapabilities]: caller.capabilities,
    ...(caller.logLevel === undefined ? {} : { [metaKeys.logLevel]: caller.logLevel }),
  };
}

/** Metadata for modern requests as raw JSON. */
export interface RawMeta {
  /** Keys that are replaced if the client's `_meta` contains them. */
  readonly keys: Changes;
  readonly members: string;
}

const requiredMetaKeys: Changes = {
  [metaKeys.protocolVersion]: undefined,
  [metaKeys.clientInfo]: undefined,
  [metaKeys.clientCapabilities]: undefined,
};
const metaKeysWithLevel: Changes = { ...requiredMetaKeys, [metaKeys.logLevel]: undefined };

/** Same as `modernMeta`, as raw JSON, serialised once per client. */
export function rawMetaOf(rawInfo: string, rawCapabilities: string, logLevel: string | undefined): RawMeta {
  const members = `"${metaKeys.protocolVersion}":"${modernVersion}","${metaKeys.clientInfo}":${rawInfo},"${metaKeys.clientCapabilities}":${rawCapabilities}`;
  if (logLevel === undefined) return { keys: requiredMetaKeys, members };
  return { keys: metaKeysWithLevel, members: `${members},"${metaKeys.logLevel}":${rawJson(logLevel)}` };
}

/** Converts a legacy client's request to the modern era. `more` are further members of `params`. */
export function toModern(envelope: Envelope, caller: Caller, more?: Changes): Envelope {
  const { clientInfo, capabilities, logLevel } = caller;
  const edits = modernEdits(envelope, rawMetaOf(rawJson(clientInfo), rawJson(capabilities), logLevel), more);
  return edits.length === 0 ? envelope : readServerMessage(toBuffer(applyEdits(envelope.bytes, edits)));
}

/** Returns the edits of `toModern`. `more` are changes of `params`, except `_meta`. */
export function modernEdits(envelope: Envelope, meta: RawMeta, more: Changes = noChanges): Edit[] {
  const { bytes, params } = envelope;
  if (params === undefined) {
    // The outermost object; white space may precede it.
    const message = { start: bytes.indexOf(BRACE), end: bytes.length };
    const members = rawMembers({ _meta: `{${meta.members}}`, ...more });
    return changeMembers(bytes, message, { params: `{${members}}` });
  }
  // A list as `params` is valid JSON-RPC, but cannot contain metadata. MCP servers reject it.
  if (bytes[params.start] !== BRACE) return [];
  const ownMeta = envelope.param('_meta');
  if (ownMeta === undefined && more === noChanges)
    return [addFirst(bytes, params, `"_meta":{${meta.members}}`)];
  if (ownMeta === undefined || bytes[ownMeta.start] !== BRACE)
    return changeMembers(bytes, params, { ...more, _meta: `{${meta.members}}` });
  const edits = changeParsedMembers(ownMeta, membersOf(bytes, ownMeta), meta.keys, meta.members);
  return more === noChanges ? edits : [...edits, ...changeMembers(bytes, params, more)];
}

const retryMembers: Changes = { inputResponses: undefined, requestState: undefined };

/**
 * Returns the edits that convert a modern request to the legacy era. The metadata is removed, because a
 * server of both eras would take the result for a modern request. `more` are changes of `params`, except
 * `_meta`.
 */
export function legacyEdits(envelope: Envelope, more: Changes = noChanges): Edit[] {
  const { bytes, params } = envelope;
  if (params === undefined || bytes[params.start] !== BRACE) return [];
  const ownMeta = envelope.param('_meta');
  const edits = ownMeta === undefined || bytes[ownMeta.start] !== BRACE ? [] : withoutMeta(envelope, ownMeta);
  // Only a retry has these members.
  const isRetry =
    envelope.param('inputResponses') !== undefined || envelope.param('requestState') !== undefined;
  if (!isRetry && more === noChanges) return edits;
  return [...edits, ...changeMembers(bytes, params, isRetry ? { ...more, ...retryMembers } : more)];
}

function withoutMeta(envelope: Envelope, ownMeta: Span): Edit[] {
  // Usually there are no other members, and the object need not be scanned.
  if (envelope.hasMetaOnlyOf(metaKeysWithLevel))
    return [{ start: ownMeta.start + 1, end: ownMeta.end - 1, text: '' }];
  return changeMembers(envelope.bytes, ownMeta, metaKeysWithLevel);
}

/** Cache hint: lifetime in milliseconds and scope. */
interface Hint {
  readonly ttlMs: number;
  readonly scope: string;
}

/**
 * Returns the members that modern clients expect in a result of the gateway, as raw JSON without braces.
 * `rawMeta` are further members of `_meta`.
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

/** Adds these members to a result of the gateway; `rawResult` is an object as raw JSON. */
export function completeResult(rawResult: string, serverInfo: unknown, hint: Hint | undefined): string {
  // The gateway writes `resultType` first. At another position it may be server data.
  const hasType = rawResult.startsWith('{"resultType":');
  const head = `{${completeMembers(serverInfo, hint, { hasType })}`;
  return rawResult === '{}' ? `${head}}` : `${head},${rawResult.slice(1)}`;
}

/** Returns the `resultType`; its default is `complete` (specification). Never throws. */
export function resultType(answer: Envelope): string | undefined {
  const { bytes, result } = answer;
  if (result === undefined) return undefined;
  const span = memberOf(bytes, result, 'resultType');
  if (span === undefined) return 'complete';
  const type: unknown = JSON.parse(rawOf(bytes, span));
  return typeof type === 'string' ? type : undefined;
}

const INPUT_REQUIRED = 'input_required';

/** Returns true if the result requests input. A text search excludes most responses without parsing. */
export function asksForInput(answer: Envelope): boolean {
  if (answer.result === undefined) return false;
  const mayBe = containsText(answer.message, INPUT_REQUIRED) || containsText(answer.message, '\\u');
  return mayBe && resultType(answer) === INPUT_REQUIRED;
}
