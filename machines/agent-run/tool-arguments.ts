// The arguments of a call as a model wrote them. What is no JSON object the model is told, and no tool is called with.

import { isNestedTooDeeply, MAX_LEVELS } from './nested-levels.ts';
import { wellFormedJson } from './well-formed-json.ts';

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
