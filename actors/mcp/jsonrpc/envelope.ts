// The envelope of a JSON-RPC message: the members (of JSON objects) needed for routing, and the positions of
// members that the gateway may replace. The rest of the message is not parsed. read-message.ts fills it.

import { textOf } from './json-scanner.ts';
import { RpcFault, rpcCodes } from './rpc-fault.ts';
import { isInPieces, type Message, rawOf, type Span, sliceMessage, toBuffer } from './span.ts';

export type MessageKind = 'request' | 'notification' | 'answer';

/** Maximum number of members `io.modelcontextprotocol/…` in `_meta`. The specification defines six. */
const MAX_RESERVED = 64;

const QUOTE = 0x22;
const DIGIT_0 = 0x30;

/** A member of `params` or `_meta` that the gateway reads (`watchedParams` in read-message.ts). */
interface WatchedMember extends Span {
  readonly name: string;
  /** Cached text, if short. Routing reads the same name several times. */
  text: string | undefined;
}

/** Maximum size of cached text, in bytes of raw JSON. */
const SHORT_BYTES = 256;

/** Key of the protocol version in `params._meta`, in modern requests. */
export const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion';

/** Returns an id in raw JSON as a number, also from text (`"17"`); NaN for other ids. */
export function idNumber(rawId: string): number {
  // Number('') would be 0.
  if (!rawId.startsWith('"')) return rawId === '' ? Number.NaN : Number(rawId);
  return /^"\d{1,16}"$/.test(rawId) ? Number(rawId.slice(1, -1)) : Number.NaN;
}

export class Envelope {
  #message: Message;
  kind: MessageKind = 'notification';
  method = '';
  id: Span | undefined;
  params: Span | undefined;
  result: Span | undefined;
  error: Span | undefined;
  /** Value of `params._meta.progressToken`, the token for progress notifications of this request. */
  progressToken: Span | undefined;
  /**
   * True if `params._meta` has members without the reserved prefix `io.modelcontextprotocol/`, for example
   * `progressToken`.
   */
  hasUnreservedMeta = false;
  /** True if the message contains a protocol version, as all stateless messages (2026-07-28) do. */
  isModern = false;
  /** True for a tool result that reports the tool's own failure. */
  isToolError = false;
  /** Members of `params`, and of `_meta` below. Scanning short lists is faster than a Map. */
  #members: WatchedMember[] | undefined;
  #meta: WatchedMember[] | undefined;

  constructor(message: Message) {
    this.#message = message;
  }

  /** The received message. Only large responses are in pieces. */
  get message(): Message {
    return this.#message;
  }

  /** The message in one buffer, in which pieces are joined. To forward a message use `message` instead. */
  get bytes(): Buffer {
    const message = this.#message;
    if (!isInPieces(message)) return message;
    const bytes = toBuffer(message);
    this.#message = bytes;
    return bytes;
  }

  /** The id as raw JSON (`1` and `"1"` differ); '' without an id. */
  get rawId(): string {
    const { id, message } = this;
    if (id === undefined) return '';
    if (!isInPieces(message)) return rawOf(message, id);
    return toBuffer(sliceMessage(message, id.start, id.end)).toString('latin1');
  }

  /** Request id as raw JSON; undefined for other messages. */
  get rawRequestId(): string | undefined {
    return this.kind === 'request' ? this.rawId : undefined;
  }

  /** The id as a number, also if a server returned it as text; NaN if it is neither. */
  get numericId(): number {
    const { id, message } = this;
    if (id === undefined) return Number.NaN;
    if (isInPieces(message)) return idNumber(this.rawId);
    // Reads the digits without creating a text, because each response needs this number.
    let value = 0;
    for (let pos = id.start; pos < id.end; pos += 1) {
      const digit = (message[pos] ?? 0) - DIGIT_0;
      // `5.0` and `5e0` are also numbers.
      if (digit < 0 || digit > 9) return idNumber(this.rawId);
      value = value * 10 + digit;
    }
    return value;
  }

  /** Returns the position of a `params` member that the gateway reads. */
  param(name: string): Span | undefined {
    return memberIn(this.#members, name);
  }

  /** Same as `param`, as text; undefined unless it is a string. */
  paramText(name: string): string | undefined {
    return this.#textOf(memberIn(this.#members, name));
  }

  /**
   * Cursor of a list request. Undefined also for null and for an empty text, with which some clients request
   * the first page. A cursor that is no text is returned as JSON; no server created it.
   */
  get cursor(): string | undefined {
    const span = this.param('cursor');
    if (span === undefined) return undefined;
    const text = this.paramText('cursor');
    if (text !== undefined) return text === '' ? undefined : text;
    const json = rawOf(this.bytes, span);
    return json === 'null' ? undefined : json;
  }

  /** Returns the position of a reserved `params._meta` member by the full key. */
  meta(key: string): Span | undefined {
    return memberIn(this.#meta, key);
  }

  /** Same as `meta`, as text; undefined unless it is a string. */
  metaText(key: string): string | undefined {
    return this.#textOf(memberIn(this.#meta, key));
  }

  #textOf(member: WatchedMember | undefined): string | undefined {
    if (member === undefined || member.text !== undefined) return member?.text;
    const { start, end } = member;
    if (this.bytes[start] !== QUOTE) return undefined;
    const text = textOf(this.bytes, start, end);
    if (end - start <= SHORT_BYTES) member.text = text;
    return text;
  }

  /** Returns true if `params._meta` has no members except these keys. */
  hasMetaOnlyOf(keys: object): boolean {
    if (this.hasUnreservedMeta || this.#meta === undefined) return false;
    for (const { name } of this.#meta) if (!Object.hasOwn(keys, name)) return false;
    return true;
  }

  /** Parses a part of the message. Too slow for every message. */
  parse(span: Span | undefined): unknown {
    return span === undefined ? undefined : JSON.parse(this.bytes.toString('utf8', span.start, span.end));
  }

  /** Records a member of `params`. Throws RpcFault for duplicates. */
  recordParam(name: string, span: Span): void {
    this.#members ??= [];
    if (this.param(name) !== undefined)
      throw new RpcFault(rpcCodes.invalidRequest, `"${name}" occurs twice in params`);
    this.#members.push({ name, start: span.start, end: span.end, text: undefined });
  }

  /** Records a reserved member of `params._meta`. Throws RpcFault for duplicates. */
  recordMeta(key: string, span: Span): void {
    this.#meta ??= [];
    if (this.meta(key) !== undefined)
      throw new RpcFault(rpcCodes.invalidRequest, `"${key.slice(0, 100)}" occurs twice in params._meta`);
    // A client may send thousands of members, and each lookup scans the list.
    if (this.#meta.length >= MAX_RESERVED)
      throw new RpcFault(
        rpcCodes.invalidRequest,
        `params._meta has more than ${MAX_RESERVED} reserved members`,
      );
    if (key === PROTOCOL_VERSION) this.isModern = true;
    this.#meta.push({ name: key, start: span.start, end: span.end, text: undefined });
  }
}

function memberIn(members: readonly WatchedMember[] | undefined, name: string): WatchedMember | undefined {
  if (members !== undefined) for (const member of members) if (member.name === name) return member;
  return undefined;
}
