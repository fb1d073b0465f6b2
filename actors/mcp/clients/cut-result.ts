// Replaces a large tool result for an agent or flow (in-process-client.ts) with its beginning and a note, if
// the agent or flow would cut the result anyway, or if it exceeds the memory share of the run. Parsing the
// whole result would block the event loop and need several times the memory. Only the beginning of the first
// text is decoded.

import type { Envelope } from '../jsonrpc/envelope.ts';
import { sliceMessage, toBuffer } from '../jsonrpc/span.ts';
import type { ToolResult } from './tool-request.ts';

/** Bytes in which the first text has to begin. */
const HEAD_BYTES = 4_096;
/** Bytes of the first text that are decoded. */
const TEXT_BYTES = 65_536;

export interface CutResult extends ToolResult {
  readonly isCut: true;
  /** Size of the received result. */
  readonly size: number;
  /** Reason, as a text that follows the size. */
  readonly reason: string;
}

export const isCut = (result: ToolResult): result is CutResult =>
  (result as Partial<CutResult>).isCut === true;

/** Returns the size of the result; 0 for errors. */
export const resultSize = ({ result }: Envelope): number =>
  result === undefined ? 0 : result.end - result.start;

export function cutResult(answer: Envelope, reason: string): CutResult {
  const { start } = answer.result ?? { start: 0 };
  const size = resultSize(answer);
  const beginning = toBuffer(
    sliceMessage(answer.message, start, start + Math.min(size, HEAD_BYTES + TEXT_BYTES)),
  );
  const text = firstText(beginning.toString('latin1'));
  const note = `(the result has ${size} bytes, ${reason}: request less at a time)`;
  const { isToolError: isError } = answer;
  return {
    content: [text, note].filter((each) => each !== '').map(textPart),
    isError,
    isCut: true,
    size,
    reason,
  };
}

const textPart = (text: string) => ({ type: 'text', text });

/** Returns the beginning of the first text in raw JSON (Latin-1); '' if there is none near the start. */
function firstText(raw: string): string {
  const member = /"text"\s*:\s*"/.exec(raw.slice(0, HEAD_BYTES));
  if (member === null) return '';
  const start = member.index + member[0].length;
  // Complete escapes only: the last one may be cut.
  const [whole = ''] =
    /^(?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*/.exec(raw.slice(start, start + TEXT_BYTES)) ?? [];
  try {
    // Latin-1 has one character per byte. A character that is cut at the end decodes to U+FFFD.
    const json = Buffer.from(`"${whole}"`, 'latin1').toString('utf8');
    return String(JSON.parse(json))
      .replace(/\ufffd+$/, '')
      .toWellFormed();
  } catch {
    return '';
  }
}
