// Finds the id of a message that is not valid JSON, such as a message with NaN, a raw control character or a
// trailing comma. The call with this id can then fail before its deadline.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const BRACE = 0x7b;
const BRACKET = 0x5b;
const END_BRACE = 0x7d;
const END_BRACKET = 0x5d;
const SPACE = 0x20;
const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
/** The id is copied into messages of the gateway, so it must be valid JSON. */
const ID = /^\s*(?:"[ !#-[\]-~]{1,255}"|-?(?:0|[1-9]\d{0,19})(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?(?![\w.]))/;
/** Maximum number of bytes between the name and the end of the id. */
const ID_BYTES = 300;
/** Longest name of an envelope member, with quotes. */
const NAME_BYTES = '"jsonrpc"'.length;

export interface LooseId {
  /** Id as raw JSON; undefined if there is none. */
  readonly rawId: string | undefined;
  readonly kind: 'request' | 'answer' | 'other';
}

/** Reads the first `id` of the outermost object, and the kind of the message from its members. */
export function looseIdOf(bytes: Buffer): LooseId {
  let depth = 0;
  let rawId: string | undefined;
  const names = new Set<string>();
  for (let pos = 0; pos < bytes.length; pos += 1) {
    const byte = bytes[pos];
    if (byte === BRACE || byte === BRACKET) depth += 1;
    else if (byte === END_BRACE || byte === END_BRACKET) depth -= 1;
    if (byte !== QUOTE) continue;
    const end = endOfString(bytes, pos);
    const colon = depth === 1 && end - pos <= NAME_BYTES ? colonAfter(bytes, end) : -1;
    if (colon >= 0) {
      const name = bytes.toString('latin1', pos + 1, end - 1);
      if (name === 'id' && !names.has('id')) rawId = idAfter(bytes, colon);
      names.add(name);
    }
    pos = end - 1;
  }
  return { rawId, kind: kindOf(names) };
}

/** Returns the kind of message that has these members. A log line may have an id too; it is `other`. */
function kindOf(names: ReadonlySet<string>): LooseId['kind'] {
  if (names.has('method')) return names.has('jsonrpc') ? 'request' : 'other';
  return names.has('jsonrpc') || names.has('result') || names.has('error') ? 'answer' : 'other';
}

function idAfter(bytes: Buffer, colon: number): string | undefined {
  return ID.exec(bytes.toString('latin1', colon + 1, colon + ID_BYTES))?.[0].trim();
}

/** Returns the position after the closing quote. */
function endOfString(bytes: Buffer, start: number): number {
  let pos = start + 1;
  while (pos < bytes.length && bytes[pos] !== QUOTE) pos += bytes[pos] === BACKSLASH ? 2 : 1;
  return Math.min(pos + 1, bytes.length);
}

/** Returns the position of the colon that follows a name; -1 after a value. */
function colonAfter(bytes: Buffer, end: number): number {
  let pos = end;
  while ([SPACE, TAB, LF, CR].includes(bytes[pos] ?? 0)) pos += 1;
  return bytes[pos] === COLON ? pos : -1;
}
