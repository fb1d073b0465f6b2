// An answer by a schema: read as JSON, and held against the schema here, whatever its provider promises.

import { compilePattern, type Pattern } from '../../../config/resources/fields/patterns.ts';
import { checkValue } from '../../../config/value-schema/check-value.ts';
import { isNestedTooDeeply, MAX_LEVELS } from '../../../machines/agent-run/nested-levels.ts';
import type { ReadAnswer } from '../../../machines/agent-run/plan.ts';

type Schema = Readonly<Record<string, unknown>>;

export function answerReader(schema: Schema | undefined): ReadAnswer {
  const patterns = new Map<string, Pattern>();
  const finds = (source: string, text: string) => {
    const pattern = patterns.get(source) ?? compiled(source);
    patterns.set(source, pattern);
    return pattern(text);
  };
  return (text) => {
    let data: unknown;
    try {
      data = JSON.parse(unfenced(text));
    } catch (error) {
      return { misfit: `it is no JSON: ${(error as Error).message}` };
    }
    if (isNestedTooDeeply(data)) return { misfit: `it is nested more than ${MAX_LEVELS} levels deep` };
    const [wrong] = schema === undefined ? [] : checkValue(schema, data, finds).findings;
    if (wrong === undefined) return { data };
    const at = wrong.path.join('.').slice(0, 200);
    return { misfit: `${at === '' ? 'it' : at} ${wrong.text}` };
  };
}

/** What has no pattern of RE2 is refused when the agent is loaded. */
function compiled(source: string): Pattern {
  const pattern = compilePattern(source);
  return typeof pattern === 'function' ? pattern : () => false;
}

/** Models like to put JSON between fences. */
function unfenced(text: string): string {
  const [, inner] = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/.exec(text) ?? [];
  return inner ?? text;
}
