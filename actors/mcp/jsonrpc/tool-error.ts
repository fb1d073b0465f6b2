// Detects large results with `isError: true`: the server has responded, and the tool itself reports a
// failure. Most large results are only searched for the name of the member. For small results,
// read-message.ts reads the member.

import type { Envelope } from './envelope.ts';
import { memberOf } from './members.ts';

const NAME = Buffer.from('"isError"');
const SPACE = 0x20;
const COLON = 0x3a;
/** First byte of `true`. */
const TRUE = 0x74;

/** Returns true for methods that return a tool result. */
export const hasToolResult = (method: string): boolean =>
  method === 'tools/call' || method === 'tasks/result';

/** Returns true for a result with `isError: true`. A name at the border of two pieces is not found. */
export function isToolError(pieces: readonly Buffer[], answer: Pick<Envelope, 'bytes' | 'result'>): boolean {
  if (answer.result === undefined || !pieces.some(hasTrueMember)) return false;
  // The member may be inside of `structuredContent`.
  const { bytes } = answer;
  const value = memberOf(bytes, answer.result, 'isError');
  return value !== undefined && bytes[value.start] === TRUE;
}

function hasTrueMember(piece: Buffer): boolean {
  for (let at = piece.indexOf(NAME); at !== -1; at = piece.indexOf(NAME, at + 1)) {
    let next = at + NAME.length;
    while (isBetween(piece[next])) next += 1;
    if (piece[next] === TRUE) return true;
  }
  return false;
}

/** Returns true for the colon and white space between a name and its value. */
const isBetween = (byte: number | undefined) => byte !== undefined && (byte === COLON || byte <= SPACE);
