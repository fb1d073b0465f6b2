// Estimates the time that JSON.parse takes, which depends on the number of values and members more than on
// the size: a megabyte of text takes 1 ms, of rows 10 ms, of empty arrays or short members 100 ms.

/**
 * Maximum cost of a result that is parsed in one turn of the event loop, about 20 ms. A JSON text of 262,144
 * characters without white space costs less.
 */
export const MAX_PARSE_COST = 210_000;
const VALUE_COST = 1;
/** Added to the cost of the value. */
const MEMBER_COST = 3;

/** Returns the cost of raw JSON, counted up to `most`. */
export function parseCost(bytes: Uint8Array, most: number): number {
  let cost = VALUE_COST;
  for (let at = 0; at < bytes.length && cost <= most; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at + 1);
    else if (byte === COMMA || byte === BRACE || byte === BRACKET) cost += VALUE_COST;
    else if (byte === COLON) cost += MEMBER_COST;
  }
  return cost;
}

/** Returns the position of the closing quotation mark. */
function endOfString(bytes: Uint8Array, start: number): number {
  let at = start;
  for (; at < bytes.length && bytes[at] !== QUOTE; at += 1) if (bytes[at] === BACKSLASH) at += 1;
  return at;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACE = 0x7b;
