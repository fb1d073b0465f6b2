// The script of an agent that is none (`model: scripted:<file>`): an ordered list of rules, as actors/handlers/
// scripted-agent.ts explains them. Only the form is read here.

import { parse } from 'yaml';

export interface ScriptRule {
  /** A pattern for the text. */
  readonly text: string | undefined;
  /** Without a leading slash. */
  readonly command: string | undefined;
  readonly event: string | undefined;
  readonly answer: string;
  readonly delay_ms: number;
  /** So many first attempts fail. */
  readonly fail: number;
}

const MAX_DELAY_MS = 3_600_000;

/** The rules of a script in YAML or JSON. Throws an Error that names the rule and what is wrong with it. */
export function readScript(source: string): readonly ScriptRule[] {
  const value: unknown = parse(source);
  if (!Array.isArray(value)) throw new Error('it should be a list of rules');
  return value.map((each: unknown, index) => {
    try {
      return ruleOf(each);
    } catch (error) {
      throw new Error(`rule ${index + 1}: ${error instanceof Error ? error.message : String(error)}`);
    }
  });
}

function ruleOf(value: unknown): ScriptRule {
  const { match = {}, answer, delay_ms = 0, fail = 0, ...more } = objectOf(value, 'a rule');
  const { text, command, event, ...others } = objectOf(match, 'match');
  const [unknown] = [...Object.keys(more), ...Object.keys(others)];
  if (unknown !== undefined) throw new Error(`there is no field ${unknown}`);
  if (typeof answer !== 'string') throw new Error('answer should be a text');
  return {
    text: textOf(text, 'match.text'),
    command: textOf(command, 'match.command')?.replace(/^\//, ''),
    event: textOf(event, 'match.event'),
    answer,
    delay_ms: numberOf(delay_ms, 'delay_ms', MAX_DELAY_MS),
    fail: numberOf(fail, 'fail', Number.MAX_SAFE_INTEGER),
  };
}

function objectOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw new Error(`${what} should have fields`);
}

function textOf(value: unknown, what: string): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  throw new Error(`${what} should be a text`);
}

function numberOf(value: unknown, what: string, most: number): number {
  if (typeof value === 'number' && value >= 0 && value <= most) return value;
  throw new Error(`${what} should be a number from 0 to ${most}`);
}
