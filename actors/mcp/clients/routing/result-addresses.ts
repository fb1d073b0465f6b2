// Renames resource URIs in the results of servers for clients at /mcp and /mcp/@NAME, because several servers
// may use the same URI there. URIs occur in links, embedded resources, contents, directories, skills, and in
// `_meta`, where a tool names its HTML page (MCP Apps). Text and structured content remain unchanged, because
// their meaning is unknown. A result without a member `uri` or `resourceUri` is not parsed.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { JsonScanner, textOf } from '../../jsonrpc/json-scanner.ts';
import { containsText, type Edit, rawJson, replaceSpan, type Span } from '../../jsonrpc/span.ts';
import { pageSpans } from '../aggregate/address-form.ts';

/** Common end of the member names `uri` and `resourceUri`. A message without it contains no address. */
const URI_MEMBER = 'ri"';
/** Members with URIs below them. */
const containers = new Set('content contents messages resource resources skill skills result'.split(' '));
/** Bytes of `"`, `{` and `[`. */
const QUOTE = 0x22;
const BRACE = 0x7b;
const BRACKET = 0x5b;

/** Returns the edits that rename the URIs; usually none. */
export function addressEdits(answer: Envelope, rename: (uri: string) => string): readonly Edit[] {
  const { result } = answer;
  if (result === undefined || !containsText(answer.message, URI_MEMBER)) return noEdits;
  const { bytes } = answer;
  return addressesIn(bytes, result).flatMap((span) => {
    const uri = textOf(bytes, span.start, span.end);
    const name = rename(uri);
    return name === uri ? [] : [replaceSpan(span, rawJson(name))];
  });
}

/** Returns the positions of the URIs in a result, with quotes, in order. */
function addressesIn(bytes: Buffer, result: Span): Span[] {
  const spans: Span[] = [];
  const scanner = new JsonScanner(bytes, result.start);
  const visit = (depth: number): void => {
    const first = scanner.peek();
    if (first === BRACKET) scanner.array(depth, () => visit(depth + 1));
    else if (first !== BRACE) scanner.value(depth);
    else
      scanner.object(depth, (key) => {
        if (containers.has(key)) {
          visit(depth + 1);
          return;
        }
        const { pos: start } = scanner;
        scanner.value(depth + 1);
        const span = { start, end: scanner.pos };
        if (key === '_meta') spans.push(...pageSpans(bytes, span));
        else if (key === 'uri' && bytes[start] === QUOTE) spans.push(span);
      });
  };
  visit(0);
  return spans;
}

const noEdits: readonly Edit[] = [];
