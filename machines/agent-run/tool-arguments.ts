// The arguments of a call as a model wrote them. What is no JSON object the model is told, and no tool is called with.

/** Parsing has no depth limit, but serializing or walking a deeper value overflows the stack. */
export const MAX_LEVELS = 128;

/** Returns true if objects and lists are nested deeper than the limit. */
export function isNestedTooDeeply(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isNestedTooDeeply(member, levels - 1));
}

/** Escaped surrogate pair, lone surrogate or other escape. */
const ESCAPE = /\\(?:ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|ud[89a-f][0-9a-f]{2}|.)/gi;
const HALF = /^\\ud...$/i;

/** Replaces lone surrogates, which cut texts contain. Providers and tool servers refuse the whole text otherwise. */
export function wellFormedJson(json: string): string {
  const text = json.toWellFormed();
  if (!/\\ud/i.test(text)) return text;
  return text.replace(ESCAPE, (found) => (HALF.test(found) ? '\\ufffd' : found));
}

type Arguments = Readonly<Record<string, unknown>>;

/** In UTF-16 units. */
const MAX_ARGUMENTS = 262_144;

/** The arguments, or what is wrong with them. No text is no arguments. */
export function toolArguments(input: string): Arguments | string {
  if (input.length > MAX_ARGUMENTS)
    return `they have ${input.length} characters, and at most ${MAX_ARGUMENTS} are taken`;
  if (input.trim() === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(wellFormedJson(input));
  } catch (error) {
    return `they are no JSON: ${(error as Error).message}`;
  }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject) return 'they are no JSON object';
  if (isNestedTooDeeply(value)) return `they are nested more than ${MAX_LEVELS} levels deep`;
  return value as Arguments;
}
