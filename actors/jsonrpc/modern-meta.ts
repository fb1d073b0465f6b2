// What revision 2026-07-28 says with every message instead of once per session, and how a message is carried from one
// era into the other: a request gains or loses its metadata, a result gains or loses what only one era knows.
//
// X1  beyond those members a message stays as it was received, byte for byte.

import { type Envelope, readServerMessage } from './envelope.ts';
import { changeMembers, memberOf } from './members.ts';
import { type Edit, inOrder, rawJson, rawOf, splice } from './span.ts';

/** Legacy: sessions and `initialize`, up to 2025-11-25. Modern: stateless requests, from 2026-07-28 on. */
export type Era = 'legacy' | 'modern';

export const modernVersion = '2026-07-28';

/** Members of `_meta` that the specification reserves (2026-07-28, "General fields"). */
export const metaKeys = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const;

/** Who is asking, as a modern server wants to know it with each request. */
export interface Asker {
  readonly clientInfo: unknown;
  readonly capabilities: unknown;
  readonly logLevel?: string | undefined;
}

/** The metadata of a modern request of `asker`, for a request that the gateway writes itself. */
export function modernMeta(asker: Asker): Record<string, unknown> {
  return {
    [metaKeys.protocolVersion]: modernVersion,
    [metaKeys.clientInfo]: asker.clientInfo,
    [metaKeys.clientCapabilities]: asker.capabilities,
    ...(asker.logLevel === undefined ? {} : { [metaKeys.logLevel]: asker.logLevel }),
  };
}

/** A request of a legacy client, or a retry of it, as a modern server expects it. `more` are members for `params`. */
export function toModern(
  envelope: Envelope,
  asker: Asker,
  more: Readonly<Record<string, string>> = {},
): Envelope {
  const meta = Object.fromEntries(
    Object.entries(modernMeta(asker)).map(([key, value]) => [key, rawJson(value)]),
  );
  return rewritten(envelope, meta, more);
}

const strippedMeta = Object.fromEntries(
  [metaKeys.protocolVersion, metaKeys.clientInfo, metaKeys.clientCapabilities, metaKeys.logLevel].map(
    (key) => [key, undefined],
  ),
);

/** A request of a modern client as a legacy server expects it: one that speaks both eras must not take it for modern. */
export function toLegacy(envelope: Envelope): Envelope {
  return rewritten(envelope, strippedMeta, { inputResponses: undefined, requestState: undefined });
}

function rewritten(
  envelope: Envelope,
  meta: Readonly<Record<string, string | undefined>>,
  more: Readonly<Record<string, string | undefined>>,
): Envelope {
  const { bytes, params } = envelope;
  if (params === undefined) {
    const whole = { start: bytes.indexOf(0x7b), end: bytes.length };
    const text = `{${[`"_meta":${objectText(meta)}`, ...texts(more)].join(',')}}`;
    return readServerMessage(splice(bytes, changeMembers(bytes, whole, { params: text })));
  }
  // A list has no room for metadata; JSON-RPC knows such params, and whoever serves MCP refuses them.
  if (bytes[params.start] !== 0x7b) return envelope;
  const own = memberOf(bytes, params, '_meta');
  const isObject = own !== undefined && bytes[own.start] === 0x7b;
  const edits: Edit[] = isObject ? changeMembers(bytes, own, meta) : [];
  edits.push(...changeMembers(bytes, params, isObject ? more : { ...more, _meta: objectText(meta) }));
  return readServerMessage(splice(bytes, inOrder(edits)));
}

export interface ResultChanges {
  /** Members of the result itself, as raw JSON; undefined takes one out. */
  readonly members: Readonly<Record<string, string | undefined>>;
  /** Members of its `_meta`. */
  readonly meta?: Readonly<Record<string, string | undefined>>;
}

/** Edits, in order, that change a result; none when the answer is an error or its result is no object. */
export function changeResult(answer: Envelope, { members, meta }: ResultChanges): Edit[] {
  const { bytes, result } = answer;
  if (result === undefined || bytes[result.start] !== 0x7b) return [];
  if (meta === undefined) return changeMembers(bytes, result, members);
  const own = memberOf(bytes, result, '_meta');
  if (own === undefined || bytes[own.start] !== 0x7b) {
    const text = objectText(meta);
    return changeMembers(bytes, result, text === '{}' ? members : { ...members, _meta: text });
  }
  return inOrder([...changeMembers(bytes, own, meta), ...changeMembers(bytes, result, members)]);
}

/** How long a result may be kept, in milliseconds, and by whom. */
interface Hint {
  readonly ttlMs: number;
  readonly scope: string;
}

/** What a modern client expects in a result of the gateway's own: raw JSON of members, without braces; `rawMeta` more of `_meta`. */
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

function texts(members: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(members).flatMap(([key, raw]) =>
    raw === undefined ? [] : [`${JSON.stringify(key)}:${raw}`],
  );
}

function objectText(members: Readonly<Record<string, string | undefined>>): string {
  return `{${texts(members).join(',')}}`;
}
