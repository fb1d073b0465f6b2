// Finds the string values in a part of a message. Member names are skipped.

import { JsonScanner } from './json-scanner.ts';
import type { Span } from './span.ts';

const QUOTE = 0x22;
const BRACE = 0x7b;
const BRACKET = 0x5b;

/**
 * Returns the positions of the string values at `span`, with their quotes, in order. The span must be valid
 * JSON.
 */
export function stringValuesIn(bytes: Buffer, span: Span): Span[] {
  const spans: Span[] = [];
  const scanner = new JsonScanner(bytes, span.start);
  const visit = (depth: number): void => {
    const first = scanner.peek();
    const start = scanner.pos;
    if (first === BRACE) scanner.object(depth, () => visit(depth + 1));
    else if (first === BRACKET) scanner.array(depth, () => visit(depth + 1));
    else scanner.value(depth);
    if (first === QUOTE) spans.push({ start, end: scanner.pos });
  };
  visit(0);
  return spans;
}
