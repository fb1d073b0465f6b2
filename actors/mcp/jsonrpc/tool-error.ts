// Detects results with `isError: true`: the server has responded, and the tool itself reports a failure. Most
// results are only searched for the name of the member.

import { memberOf } from './members.ts';
import { isInPieces, type Message, type Span } from './span.ts';

const NAME = Buffer.from('"isError"');
const SPACE = 0x20;
const COLON = 0x3a;
/** First byte of `true`. */
const TRUE = 0x74;

/** Returns true for methods that return a tool result. */
export const hasToolResult = (method: string): boolean =>
  method === 'tools/call' || method === 'tasks/result';

/** A response. If it is large, a getter joins its pieces. */
interface Answer {
  readonly message: Message;
  readonly bytes: Buffer;
  readonly result: Span | undefined;
}

/**
 * Returns true for a result with `isError: true`. In a large result, a name at the border of two pieces is
 * not found.
 */
export function isToolError(answer: Answer): boolean {
  const { message, result } = answer;
  if (result === undefined) return false;
  const mayBeError = isInPieces(message)
    ? message.some((piece) => hasTrueMember(piece, 0, piece.length))
    : hasTrueMember(message, result.start, result.end);
  if (!mayBeError) return false;
  // The member may be inside of `structuredContent`.
  const { bytes } = answer;
  const value = memberOf(bytes, result, 'isError');
  return value !== undefined && bytes[value.start] === TRUE;
}

function hasTrueMember(bytes: Buffer, start: number, end: number): boolean {
  for (let at = bytes.indexOf(NAME, start); at !== -1 && at < end; at = bytes.indexOf(NAME, at + 1)) {
    let next = at + NAME.length;
    while (next < end && isBetween(bytes[next])) next += 1;
    if (bytes[next] === TRUE) return true;
  }
  return false;
}

const isBetween = (byte: number | undefined) => byte !== undefined && (byte === COLON || byte <= SPACE);
