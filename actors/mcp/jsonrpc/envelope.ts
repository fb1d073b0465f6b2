// The envelope of one JSON-RPC message: what a gateway must know to route it, and where the few members stand that
// it may have to replace. Everything else is bytes that are nobody's business here. It is filled by read-message.ts.

import { textOf } from './json-scanner.ts';
import { RpcFault, rpcCodes } from './rpc-fault.ts';
import { between, isInPieces, type Message, rawOf, type Span, whole } from './span.ts';

export type Kind = 'request' | 'notification' | 'answer';

/** The specification knows six. */
const MAX_RESERVED = 64;

const QUOTE = 0x22;

/** A watched member of `params`. */
interface Member extends Span {
  readonly name: string;
  /** Its value, where that is a short string and was asked for: routing asks for a name again and again. */
  text: string | undefined;
}

const SHORT_BYTES = 256;

/** Key in `params._meta` of the protocol version of a modern request. */
export const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion';

export class Envelope {
  #message: Message;
  kind: Kind = 'notification';
  method = '';
  id: Span | undefined;
  params: Span | undefined;
  result: Span | undefined;
  error: Span | undefined;
  /** `params._meta.progressToken`: the token a request asks progress for. */
  askedToken: Span | undefined;
  /** `params._meta` holds members that the specification does not reserve, the token among them. */
  hasOwnMeta = false;
  /** The message names its protocol version, and so belongs to the modern era, `initialize` too. */
  isModern = false;
  /** Few, and each once: looking through them costs less than a Map. */
  #members: Member[] | undefined;
  #meta: Member[] | undefined;

  constructor(message: Message) {
    this.#message = message;
  }

  /** The message as it came; only a large answer is in pieces. */
  get message(): Message {
    return this.#message;
  }

  /** The message in one buffer. What is in pieces is put together for that: whoever only forwards takes `message`. */
  get bytes(): Buffer {
    const message = this.#message;
    if (!isInPieces(message)) return message;
    const bytes = whole(message);
    this.#message = bytes;
    return bytes;
  }

  /** The id as raw JSON (`1` and `"1"` differ); '' when there is none. */
  get rawId(): string {
    const { id, message } = this;
    if (id === undefined) return '';
    if (!isInPieces(message)) return rawOf(message, id);
    return whole(between(message, id.start, id.end)).toString('latin1');
  }

  /** The id as a number; NaN when it is none. */
  get numericId(): number {
    const { id, message } = this;
    if (id === undefined) return Number.NaN;
    if (isInPieces(message)) return Number(this.rawId);
    let value = 0;
    for (let pos = id.start; pos < id.end; pos += 1) {
      const digit = (message[pos] ?? 0) - 0x30;
      // `5.0` and `5e0` are numbers, too.
      if (digit < 0 || digit > 9) return Number(this.rawId);
      value = value * 10 + digit;
    }
    return value;
  }

  /** Where a watched member of `params` stands. */
  param(name: string): Span | undefined {
    return memberIn(this.#members, name);
  }

  /** A watched member of `params` as text; undefined when it is missing or no string. */
  paramText(name: string): string | undefined {
    return this.#textOf(memberIn(this.#members, name));
  }

  /** Where a reserved member of `params._meta` stands, by its whole key. */
  meta(key: string): Span | undefined {
    return memberIn(this.#meta, key);
  }

  /** A reserved member of `params._meta` as text; undefined when it is missing or no string. */
  metaText(key: string): string | undefined {
    return this.#textOf(memberIn(this.#meta, key));
  }

  #textOf(member: Member | undefined): string | undefined {
    if (member === undefined || member.text !== undefined) return member?.text;
    const { start, end } = member;
    if (this.bytes[start] !== QUOTE) return undefined;
    const text = textOf(this.bytes, start, end);
    if (end - start <= SHORT_BYTES) member.text = text;
    return text;
  }

  /** Whether `params._meta` holds nothing but these keys, or some of them. */
  hasMetaOnlyOf(keys: object): boolean {
    if (this.hasOwnMeta || this.#meta === undefined) return false;
    for (const { name } of this.#meta) if (!Object.hasOwn(keys, name)) return false;
    return true;
  }

  /** A part of the message as a parsed value; for the few cold paths that need one. */
  parse(span: Span | undefined): unknown {
    return span === undefined ? undefined : JSON.parse(this.bytes.toString('utf8', span.start, span.end));
  }

  note(name: string, span: Span): void {
    this.#members ??= [];
    if (this.param(name) !== undefined)
      throw new RpcFault(rpcCodes.invalidRequest, `"${name}" occurs twice in params`);
    this.#members.push({ name, start: span.start, end: span.end, text: undefined });
  }

  noteMeta(key: string, span: Span): void {
    this.#meta ??= [];
    if (this.meta(key) !== undefined)
      throw new RpcFault(rpcCodes.invalidRequest, `"${key.slice(0, 100)}" occurs twice in params._meta`);
    // A client may send thousands, and each is looked for among those before it.
    if (this.#meta.length >= MAX_RESERVED)
      throw new RpcFault(
        rpcCodes.invalidRequest,
        `params._meta has more than ${MAX_RESERVED} reserved members`,
      );
    if (key === PROTOCOL_VERSION) this.isModern = true;
    this.#meta.push({ name: key, start: span.start, end: span.end, text: undefined });
  }
}

function memberIn(members: readonly Member[] | undefined, name: string): Member | undefined {
  if (members !== undefined) for (const member of members) if (member.name === name) return member;
  return undefined;
}
