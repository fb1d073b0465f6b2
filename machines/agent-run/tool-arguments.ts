// Parses tool arguments written by a model. For anything but a JSON object the model gets an error, and the
// tool is not called.

/**
 * Maximum nesting. JSON.parse has no limit, but serializing or walking a deeper value overflows the stack.
 * Parsing it takes a hundred times as long as counting its brackets.
 */
export const MAX_LEVELS = 128;

/** Matches an escaped surrogate pair, an escaped lone surrogate, or any other escape. */
const ESCAPE = /\\(?:ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|ud[89a-f][0-9a-f]{2}|.)/gi;
/** Matches a lone surrogate among the matches of ESCAPE. */
const LONE_SURROGATE = /^\\ud...$/i;

/** Replaces lone surrogates of truncated text, because providers and tool servers reject the whole text. */
export function wellFormedJson(json: string): string {
  const text = json.toWellFormed();
  if (!/\\ud/i.test(text)) return text;
  return text.replace(ESCAPE, (sequence) => (LONE_SURROGATE.test(sequence) ? '\\ufffd' : sequence));
}

type ToolArguments = Readonly<Record<string, unknown>>;

/** In UTF-16 units. */
const MAX_ARGUMENTS_LENGTH = 262_144;

/**
 * Returns the arguments, or the fault as a text that completes "invalid arguments: …". Empty text means no
 * arguments.
 */
export function toolArguments(input: string): ToolArguments | string {
  if (input.length > MAX_ARGUMENTS_LENGTH)
    return `${input.length} characters, at most ${MAX_ARGUMENTS_LENGTH} allowed`;
  if (input.trim() === '') return {};
  if (isNestedTooDeeply(input)) return `nested deeper than ${MAX_LEVELS} levels`;
  let value: unknown;
  try {
    value = JSON.parse(wellFormedJson(input));
  } catch (error) {
    return `not valid JSON: ${(error as Error).message}`;
  }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as ToolArguments) : 'not a JSON object';
}

/** Returns true if JSON text is nested deeper than the limit. The result for other text is meaningless. */
export function isNestedTooDeeply(json: string): boolean {
  let level = 0;
  let isInString = false;
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at];
    if (isInString) {
      if (character === '\\') at += 1;
      else isInString = character !== '"';
    } else if (character === '"') isInString = true;
    else if (character === '[' || character === '{') {
      level += 1;
      if (level > MAX_LEVELS) return true;
    } else if (character === ']' || character === '}') level -= 1;
  }
  return false;
}
