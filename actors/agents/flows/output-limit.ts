// Limits of the outputs of nodes, lists of loops, and results of turns. The size is counted without building
// the JSON text, and only up to the limit.

/** Maximum output per node, as JSON in UTF-16 units. */
export const MAX_OUTPUT = 262_144;
/** Maximum nesting, which the journal can serialise. */
const MAX_LEVELS = 300;

/** Returns the exceeded limit as a text that completes "NAME …"; undefined within the limits. */
export function outputFault(value: unknown): string | undefined {
  const length = jsonLength(value, MAX_OUTPUT, MAX_LEVELS);
  if (length === TOO_DEEP) return `has more than ${MAX_LEVELS} levels`;
  return length > MAX_OUTPUT ? `has more than ${MAX_OUTPUT} characters` : undefined;
}

const TOO_DEEP = -1;

/**
 * Returns the length of the JSON text in UTF-16 units; for longer texts any number above `most`, and beyond
 * `levels` TOO_DEEP.
 */
export function jsonLength(value: unknown, most: number, levels = MAX_LEVELS): number {
  if (typeof value === 'string') return value.length > most ? value.length : JSON.stringify(value).length;
  if (typeof value !== 'object' || value === null) return (JSON.stringify(value) ?? 'null').length;
  if (levels === 0) return TOO_DEEP;
  return Array.isArray(value) ? listLength(value, most, levels) : objectLength(value, most, levels);
}

function listLength(list: readonly unknown[], most: number, levels: number): number {
  let length = BRACKETS;
  for (const element of list) {
    if (length > most) return length;
    const elementLength = jsonLength(element, most - length, levels - 1);
    if (elementLength === TOO_DEEP) return TOO_DEEP;
    length += elementLength + COMMA;
  }
  return list.length === 0 ? length : length - COMMA;
}

function objectLength(object: object, most: number, levels: number): number {
  let length = BRACKETS;
  let count = 0;
  for (const name of Object.keys(object)) {
    const member = (object as Readonly<Record<string, unknown>>)[name];
    if (member === undefined) continue;
    if (length > most) return length;
    const memberLength = jsonLength(member, most - length, levels - 1);
    if (memberLength === TOO_DEEP) return TOO_DEEP;
    count += 1;
    length += JSON.stringify(name).length + COLON + memberLength + COMMA;
  }
  return count === 0 ? length : length - COMMA;
}

/** Lengths of the syntax. */
const BRACKETS = 2;
const COLON = 1;
const COMMA = 1;
