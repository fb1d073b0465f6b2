// Parses tool arguments written by a model. For anything but a JSON object the model gets an error, and the
// tool is not called.

/**
 * Maximum nesting. JSON.parse has no limit, but serializing or walking a deeper value overflows the stack.
 */
export const MAX_LEVELS = 128;

/** Returns true if objects and arrays are nested deeper than the limit. */
export function isNestedTooDeeply(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isNestedTooDeeply(member, levels - 1));
}

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
  let value: unknown;
  try {
    value = JSON.parse(wellFormedJson(input));
  } catch (error) {
    return `not valid JSON: ${(error as Error).message}`;
  }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject) return 'not a JSON object';
  if (isNestedTooDeeply(value)) return `nested deeper than ${MAX_LEVELS} levels`;
  return value as ToolArguments;
}
