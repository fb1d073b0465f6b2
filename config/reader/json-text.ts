// Reads JSON of other programs. Some programs write a byte order mark before the JSON, which JSON.parse
// rejects; a reader may ignore the mark (RFC 8259, section 8.1).

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;

/** Length of a UTF-8 byte order mark at the start, in bytes: 3 or 0. */
export function markLength(bytes: Uint8Array): number {
  return bytes[0] === BYTE_ORDER_MARK[0] && bytes[1] === BYTE_ORDER_MARK[1] && bytes[2] === BYTE_ORDER_MARK[2]
    ? BYTE_ORDER_MARK.length
    : 0;
}

/** Parses JSON after an optional byte order mark. `reviver` replaces values. Throws SyntaxError. */
export function parseJson(text: string, reviver?: (key: string, value: unknown) => unknown): unknown {
  return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text, reviver);
}
