// Reads a JSON-RPC message into its envelope (positions of the members). Line breaks become spaces. Gateway
// and server must understand the same bytes in the same way. Therefore messages of clients are checked
// strictly: members that affect routing (id, method, name, uri, …) occur once, in any spelling with escapes.
// Servers in Go and .NET may read `ID` as `id`, so a "twin", a key that differs from such a member only in
// case, is invalid too.

import { isUtf8 } from 'node:buffer';
import { markLength } from '../../../config/reader/json-text.ts';
import { applyEdits } from './apply-edits.ts';
import { Envelope } from './envelope.ts';
import { JsonScanner, NotJsonError, TooDeepError, textOf } from './json-scanner.ts';
import { changeMembers } from './members.ts';
import { RpcFault, rpcCodes, TooDeepFault } from './rpc-fault.ts';
import { type Span, toBuffer } from './span.ts';

/** Members of `params` that the gateway reads or replaces. */
const watchedParams = new Set([
  'name',
  'arguments',
  'uri',
  'cursor',
  'requestId',
  'progressToken',
  'ref',
  'level',
  'requestState',
  'inputResponses',
  'task',
  'taskId',
  '_meta',
]);

/** Prefix of the reserved members in `params._meta`. */
const RESERVED_META = 'io.modelcontextprotocol/';
const foldedVersionKey = foldCase(`${RESERVED_META}protocolVersion`);

/** Members that some programs write with the value null instead of omitting them. */
const nullable = new Set(['id', 'method', 'params', 'result', 'error']);

/** Top-level members. */
const topLevel = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];

const foldedTopLevel = new Set(topLevel.map(foldCase));
const foldedWatched = new Set([...watchedParams].map(foldCase));
const foldedToken = foldCase('progressToken');

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const BRACE = 0x7b;
const BRACKET = 0x5b;
const DASH = 0x2d;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const SPACE = 0x20;
/** First byte of `true`. */
const TRUE = 0x74;
/** First byte of `null`. */
const NULL = 0x6e;

/**
 * Reads a client's message. Throws RpcFault, with the id if readable: -32700 for invalid JSON, -32600 for
 * invalid JSON-RPC 2.0. Batches are invalid since revision 2025-06-18.
 */
export function readClientMessage(bytes: Buffer): Envelope {
  if (!isUtf8(bytes)) throw new RpcFault(rpcCodes.parseError, 'the message is not valid UTF-8');
  return read(bytes, true);
}

/**
 * Reads a server's message; `"jsonrpc"` may be missing. Throws RpcFault for invalid messages, TooDeepFault
 * for too deep nesting.
 */
export function readServerMessage(bytes: Buffer): Envelope {
  return read(bytes, false);
}

function read(received: Buffer, isStrict: boolean): Envelope {
  const byteOrderMark = markLength(received);
  // Without a mark, no new Buffer is created: it would cost a fifth of the time of this function.
  const bytes = byteOrderMark === 0 ? received : received.subarray(byteOrderMark);
  const envelope = new Envelope(bytes);
  const scanner = new JsonScanner(bytes);
  let version: string | undefined;
  let hasMethod = false;
  /** Members with the value null. Few messages have any. */
  let nulls: Map<string, Span> | undefined;
  try {
    const first = scanner.peek();
    if (first !== BRACE) {
      scanner.value(0);
      scanner.end();
      throw new RpcFault(
        rpcCodes.invalidRequest,
        first === BRACKET
          ? 'batches are not supported: send one message at a time'
          : 'the message is not an object',
      );
    }
    scanner.object(0, (key) => {
      const start = scanner.pos;
      if (key === 'params' && bytes[start] === BRACE) {
        readParams(scanner, envelope, isStrict);
      } else if (key === 'result' && bytes[start] === BRACE) {
        readResult(scanner, envelope);
      } else {
        scanner.value(1);
      }
      const span = { start, end: scanner.pos };
      if (nulls?.has(key) === true) throw invalidMessage(`"${key}" occurs twice`);
      if (bytes[start] === NULL && nullable.has(key)) {
        // The other nullable keys are members of the envelope, with the type of `id`.
        if (key === 'method' ? hasMethod : envelope[key as 'id'] !== undefined)
          throw invalidMessage(`"${key}" occurs twice`);
        nulls ??= new Map();
        nulls.set(key, span);
        return;
      }
      switch (key) {
        case 'jsonrpc':
          version = version === undefined && bytes[start] === QUOTE ? textOf(bytes, start, span.end) : '';
          break;
        case 'method':
          if (hasMethod || bytes[start] !== QUOTE) throw invalidMessage('"method" must be one string');
          hasMethod = true;
          envelope.method = textOf(bytes, start, span.end);
          break;
        case 'id':
        case 'params':
        case 'result':
        case 'error':
          if (envelope[key] !== undefined) throw invalidMessage(`"${key}" occurs twice`);
          envelope[key] = span;
          break;
        default:
          if (isStrict && foldedTopLevel.has(foldCase(key))) throw twinFault(key);
      }
    });
    scanner.end();
  } catch (error) {
    if (error instanceof TooDeepError) throw new TooDeepFault(rpcCodes.parseError, error.message);
    if (error instanceof NotJsonError) throw new RpcFault(rpcCodes.parseError, `not JSON: ${error.message}`);
    throw error;
  }
  if (nulls !== undefined) {
    keepNulls(envelope, nulls, hasMethod, isStrict);
    if (nulls.size > 0) {
      // Receivers that check a schema reject null members.
      const removed = Object.fromEntries([...nulls.keys()].map((name) => [name, undefined]));
      const edits = changeMembers(bytes, { start: bytes.indexOf(BRACE), end: bytes.length }, removed);
      return read(toBuffer(applyEdits(bytes, edits)), isStrict);
    }
  }
  if (scanner.hasLineBreak) toOneLine(bytes);
  if (isStrict && version !== '2.0') throw invalidMessage('"jsonrpc" must be "2.0"', envelope);
  classify(envelope, hasMethod);
  return envelope;
}

/**
 * Stores null members that have a meaning in the envelope: the `result` of a response, and the `id` of an
 * error response. A client's `id` must not be null.
 */
function keepNulls(
  envelope: Envelope,
  nulls: Map<string, Span>,
  hasMethod: boolean,
  isStrict: boolean,
): void {
  const keep = (name: 'id' | 'result') => {
    envelope[name] ??= nulls.get(name);
    nulls.delete(name);
  };
  if (!hasMethod && envelope.error === undefined) keep('result');
  if (!hasMethod || isStrict) keep('id');
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
          envelope.recordMeta(metaKey, span);
          return;
        }
        envelope.hasUnreservedMeta = true;
        if (metaKey === 'progressToken') {
          if (envelope.progressToken !== undefined) throw invalidMessage('"progressToken" occurs twice');
          envelope.progressToken = span;
        } else if (isStrict && isTwinOfMeta(metaKey)) throw twinFault(metaKey);
      });
    } else {
      scanner.value(2);
    }
    if (watchedParams.has(key)) envelope.recordParam(key, { start, end: scanner.pos });
    else if (isStrict && foldedWatched.has(foldCase(key))) throw twinFault(key);
  });
}

function readResult(scanner: JsonScanner, envelope: Envelope): void {
  scanner.object(1, (key) => {
    const first = scanner.bytes[scanner.pos];
    scanner.value(2);
    if (key === 'isError') envelope.isToolError = first === TRUE;
  });
}

function classify(envelope: Envelope, hasMethod: boolean): void {
  const { bytes, id, result, error, params } = envelope;
  if (id !== undefined) {
    const first = bytes[id.start];
    const isNull = first === NULL && error !== undefined;
    const isNumber = first === DASH || (first !== undefined && first >= DIGIT_0 && first <= DIGIT_9);
    if (first !== QUOTE && !isNumber && !isNull) throw invalidMessage('"id" must be a string or a number');
    if (id.end - id.start > 1024) throw invalidMessage('"id" is longer than 1024 bytes');
  }
  if (hasMethod) {
    if (result !== undefined || error !== undefined)
      throw invalidMessage('a request must not have a result or an error', envelope);
    const first = params === undefined ? BRACE : bytes[params.start];
    if (first !== BRACE && first !== BRACKET) throw invalidMessage('"params" must be an object', envelope);
    envelope.kind = id === undefined ? 'notification' : 'request';
    return;
  }
  if ((result === undefined) === (error === undefined) || id === undefined) {
    throw invalidMessage('the message is not a request, notification or response', envelope);
  }
  envelope.kind = 'answer';
}

/**
 * Returns the same text for keys that a case-insensitive reader takes as equal, such as `k` and the Kelvin
 * sign.
 */
function foldCase(key: string): string {
  return key.toUpperCase().toLowerCase();
}

function isTwinOfMeta(key: string): boolean {
  const plain = foldCase(key);
  return plain === foldedToken || plain === foldedVersionKey;
}

function twinFault(key: string): RpcFault {
  return invalidMessage(`"${key.slice(0, 50)}" differs from a member name only in case; use the exact name`);
}

function invalidMessage(problem: string, envelope?: Envelope): RpcFault {
  return new RpcFault(
    rpcCodes.invalidRequest,
    problem,
    envelope?.id === undefined ? undefined : envelope.rawId,
  );
}

/** Replaces line breaks with spaces. In valid JSON they occur only between tokens. */
export function toOneLine(bytes: Buffer): void {
  for (let pos = 0; pos < bytes.length; pos += 1) {
    const byte = bytes[pos];
    if (byte === LF || byte === CR) bytes[pos] = SPACE;
  }
}
