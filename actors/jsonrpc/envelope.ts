// The envelope of one JSON-RPC message: what a gateway must know to route it, and where the few members stand that
// it may have to replace. Everything else is bytes that are nobody's business here.
//
// E1  the message in `bytes` is valid JSON and stands on a single line.
// E2  a member that decides about routing (id, method, name, uri, …) occurs once, whatever its spelling with
//     escapes: a server behind us can never read another value than the one that was checked here. Servers in Go
//     and .NET may take `ID` for `id`, so that a client's message must not hold such a twin either.

import { isUtf8 } from 'node:buffer';
import { JsonScanner, NotJsonError, TooDeepError, textOf } from './json-scanner.ts';
import { RpcFault, rpcCodes, TooDeepFault } from './rpc-fault.ts';
import { between, isInPieces, type Message, rawOf, type Span, whole } from './span.ts';

export type Kind = 'request' | 'notification' | 'answer';

/** The members of `params` that routing reads or replaces. */
const watched = new Set([
  'name',
  'uri',
  'cursor',
  'requestId',
  'progressToken',
  'ref',
  'level',
  'requestState',
  'inputResponses',
  '_meta',
]);

/** Members of `params._meta` that the specification reserves; they tell the era, and whose a notification is. */
const RESERVED_META = 'io.modelcontextprotocol/';
const foldedVersionKey = folded(`${RESERVED_META}protocolVersion`);

/** Members of the message itself. */
const topLevel = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];

const foldedTopLevel = new Set(topLevel.map(folded));
const foldedWatched = new Set([...watched].map(folded));
const foldedToken = folded('progressToken');

/** The specification knows six. */
const MAX_RESERVED = 64;

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const BRACE = 0x7b;
const BRACKET = 0x5b;

/** A watched member of `params`. */
interface Member extends Span {
  readonly name: string;
  /** Its value, where that is a short string and was asked for: routing asks for a name again and again. */
  text: string | undefined;
}

const SHORT_BYTES = 256;

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
    this.#meta.push({ name: key, start: span.start, end: span.end, text: undefined });
  }
}

function memberIn(members: readonly Member[] | undefined, name: string): Member | undefined {
  if (members !== undefined) for (const member of members) if (member.name === name) return member;
  return undefined;
}

/**
 * Reads a message a client sent. Throws RpcFault (-32700 for what is not JSON, -32600 for what is no JSON-RPC 2.0
 * message; batches are gone since revision 2025-06-18) with the id where it could be read.
 */
export function readClientMessage(bytes: Buffer): Envelope {
  if (!isUtf8(bytes)) throw new RpcFault(rpcCodes.parseError, 'the message is not valid UTF-8');
  return read(bytes, true);
}

/** Reads a message a server sent, which need not carry `"jsonrpc"`. Throws RpcFault when it is no message at all, TooDeepFault when it may be one. */
export function readServerMessage(bytes: Buffer): Envelope {
  return read(bytes, false);
}

function read(bytes: Buffer, isStrict: boolean): Envelope {
  const envelope = new Envelope(bytes);
  const scanner = new JsonScanner(bytes);
  let version: string | undefined;
  let hasMethod = false;
  try {
    const first = scanner.peek();
    if (first !== BRACE) {
      scanner.value(0);
      scanner.end();
      throw new RpcFault(
        rpcCodes.invalidRequest,
        first === BRACKET
          ? 'batches are not supported: send one message at a time'
          : 'the message is no object',
      );
    }
    scanner.object(0, (key) => {
      const start = scanner.pos;
      if (key === 'params' && bytes[start] === BRACE) {
        readParams(scanner, envelope, isStrict);
      } else {
        scanner.value(1);
      }
      const span = { start, end: scanner.pos };
      switch (key) {
        case 'jsonrpc':
          version = version === undefined && bytes[start] === QUOTE ? textOf(bytes, start, span.end) : '';
          break;
        case 'method':
          if (hasMethod || bytes[start] !== QUOTE) throw notAMessage('"method" must be one string');
          hasMethod = true;
          envelope.method = textOf(bytes, start, span.end);
          break;
        case 'id':
        case 'params':
        case 'result':
        case 'error':
          if (envelope[key] !== undefined) throw notAMessage(`"${key}" occurs twice`);
          envelope[key] = span;
          break;
        default:
          if (isStrict && foldedTopLevel.has(folded(key))) throw twin(key);
      }
    });
    scanner.end();
  } catch (error) {
    if (error instanceof TooDeepError) throw new TooDeepFault(rpcCodes.parseError, error.message);
    if (error instanceof NotJsonError) throw new RpcFault(rpcCodes.parseError, `not JSON: ${error.message}`);
    throw error;
  }
  if (scanner.hasLineBreak) toOneLine(bytes);
  if (isStrict && version !== '2.0') throw notAMessage('"jsonrpc" must be "2.0"', envelope);
  classify(envelope, hasMethod);
  return envelope;
}

function readParams(scanner: JsonScanner, envelope: Envelope, isStrict: boolean): void {
  const { bytes } = scanner;
  scanner.object(1, (key) => {
    const start = scanner.pos;
    if (key === '_meta' && bytes[start] === BRACE) {
      scanner.object(2, (metaKey) => {
        const metaStart = scanner.pos;
        scanner.value(3);
        const span = { start: metaStart, end: scanner.pos };
        if (metaKey.startsWith(RESERVED_META)) {
          envelope.noteMeta(metaKey, span);
          return;
        }
        envelope.hasOwnMeta = true;
        if (metaKey === 'progressToken') {
          if (envelope.askedToken !== undefined) throw notAMessage('"progressToken" occurs twice');
          envelope.askedToken = span;
        } else if (isStrict && isTwinOfMeta(metaKey)) throw twin(metaKey);
      });
    } else {
      scanner.value(2);
    }
    if (watched.has(key)) envelope.note(key, { start, end: scanner.pos });
    else if (isStrict && foldedWatched.has(folded(key))) throw twin(key);
  });
}

function classify(envelope: Envelope, hasMethod: boolean): void {
  const { bytes, id, result, error, params } = envelope;
  if (id !== undefined) {
    const first = bytes[id.start];
    const isNull = first === 0x6e && error !== undefined;
    const isNumber = first === 0x2d || (first !== undefined && first >= 0x30 && first <= 0x39);
    if (first !== QUOTE && !isNumber && !isNull) throw notAMessage('"id" must be a string or a number');
    if (id.end - id.start > 1024) throw notAMessage('"id" is longer than 1024 bytes');
  }
  if (hasMethod) {
    if (result !== undefined || error !== undefined) throw notAMessage('a request has no result', envelope);
    const first = params === undefined ? BRACE : bytes[params.start];
    if (first !== BRACE && first !== BRACKET) throw notAMessage('"params" must be an object', envelope);
    envelope.kind = id === undefined ? 'notification' : 'request';
    return;
  }
  if ((result === undefined) === (error === undefined) || id === undefined) {
    throw notAMessage('the message is neither a request, a notification nor an answer', envelope);
  }
  envelope.kind = 'answer';
}

/** The same for all spellings that a reader without regard to case takes for one (the Kelvin sign for a k, too). */
function folded(key: string): string {
  return key.toUpperCase().toLowerCase();
}

function isTwinOfMeta(key: string): boolean {
  const plain = folded(key);
  return plain === foldedToken || plain === foldedVersionKey;
}

function twin(key: string): RpcFault {
  return notAMessage(
    `"${key.slice(0, 50)}" is not the name of a member, only alike: names are in exact case`,
  );
}

function notAMessage(what: string, envelope?: Envelope): RpcFault {
  return new RpcFault(rpcCodes.invalidRequest, what, envelope?.id === undefined ? undefined : envelope.rawId);
}

/** A line break in JSON text can only stand between tokens, where a space means the same. */
export function toOneLine(bytes: Buffer): void {
  for (let pos = 0; pos < bytes.length; pos += 1) {
    const byte = bytes[pos];
    if (byte === LF || byte === CR) bytes[pos] = 0x20;
  }
}
