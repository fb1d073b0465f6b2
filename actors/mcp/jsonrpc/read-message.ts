// Reads one JSON-RPC message into its envelope. Two who read the same bytes must not understand two messages: what a client
// sends is checked for that, since the servers behind us may be less strict.
//
// E1  the message in `Envelope.bytes` is valid JSON and stands on a single line.
// E2  a member that decides about routing (id, method, name, uri, …) occurs once, whatever its spelling with
//     escapes: a server behind us can never read another value than the one that was checked here. Servers in Go
//     and .NET may take `ID` for `id`, so that a client's message must not hold such a twin either.

import { isUtf8 } from 'node:buffer';
import { Envelope } from './envelope.ts';
import { JsonScanner, NotJsonError, TooDeepError, textOf } from './json-scanner.ts';
import { RpcFault, rpcCodes, TooDeepFault } from './rpc-fault.ts';

/** Members of `params` that the gateway reads or replaces. */
const watched = new Set([
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

/** Members of `params._meta` that the specification reserves; they tell the era, and whose a notification is. */
const RESERVED_META = 'io.modelcontextprotocol/';
const foldedVersionKey = folded(`${RESERVED_META}protocolVersion`);

/** Members of the message itself. */
const topLevel = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];

const foldedTopLevel = new Set(topLevel.map(folded));
const foldedWatched = new Set([...watched].map(folded));
const foldedToken = folded('progressToken');

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const BRACE = 0x7b;
const BRACKET = 0x5b;

/**
 * Reads a message a client sent. Throws RpcFault (-32700 for what is not JSON, -32600 for what is no JSON-RPC 2.0
 * message; batches are gone since revision 2025-06-18) with the id where it could be read.
 */
export function readClientMessage(bytes: Buffer): Envelope {
  if (!isUtf8(bytes)) throw new RpcFault(rpcCodes.parseError, 'the message is not valid UTF-8');
  return read(bytes, true);
}

/**
 * Reads a message a server sent, which need not carry `"jsonrpc"`. Throws RpcFault when it is no message at all, TooDeepFault
 * when it may be one.
 */
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
