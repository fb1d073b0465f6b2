// Reads the script for scripted agents (`model: scripted:FILE`): an ordered list of rules, described in
// actors/agents/handlers/scripted-agent.ts. The script is validated with the agent, and the handler reads it
// again after a change.

import type { SourceFile } from '../../reader/source-file.ts';
import { plainValue } from '../../reader/yaml-members.ts';
import { parseYamlTree } from '../../reader/yaml-tree.ts';
import { compilePattern, type Pattern } from '../fields/patterns.ts';

/** Card (message with fields and buttons) for chats, in the format that agents use in answers. */
export interface ScriptCard {
  readonly title?: string;
  readonly fields?: readonly Readonly<Record<string, string>>[];
  readonly actions?: readonly Readonly<Record<string, string>>[];
}

export interface ScriptRule {
  /** Pattern for the text of an event; a part of the text must match. */
  readonly text: Pattern | undefined;
  /** Command that the rule answers, without the leading slash. */
  readonly command: string | undefined;
  /** Name of the event that the rule answers. */
  readonly event: string | undefined;
  /** Answer, with placeholders such as `{{input}}`. */
  readonly answer: string;
  /** Optional card in addition to the answer. */
  readonly card: ScriptCard | undefined;
  /** Structured answer for programs: votes in fleets, conditions in flows. */
  readonly data: Readonly<Record<string, unknown>> | undefined;
  /** Delay of the answer within the attempt. */
  readonly delay_ms: number;
  /** Time for which the event waits in the store before its answer, across restarts. */
  readonly wait_ms: number;
  /** Number of attempts at an event that fail before one succeeds. */
  readonly fail: number;
}

const MAX_DELAY_MS = 3_600_000;
const MAX_WAIT_MS = 30 * 24 * 3_600_000;

export interface Script {
  readonly rules: readonly ScriptRule[];
  /** Errors with positions; a script with errors cannot be used. */
  readonly faults: readonly string[];
}

/** Reads a script in YAML or JSON. Never throws. */
export function readScript(source: SourceFile): Script {
  const { root, problems } = parseYamlTree(source);
  if (problems.length > 0)
    return {
      rules: [],
      faults: problems.map(({ line, column, message }) => `line ${line}, column ${column}: ${message}`),
    };
  if (root === undefined) return { rules: [], faults: ['the file is empty; expected a list of rules'] };
  if (root.kind !== 'list') return { rules: [], faults: ['expected a list of rules'] };
  const rules: ScriptRule[] = [];
  const faults: string[] = [];
  for (const [index, each] of root.items.entries()) {
    try {
      rules.push(ruleOf(plainValue(each)));
    } catch (error) {
      faults.push(`rule ${index + 1}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { rules, faults };
}

function ruleOf(value: unknown): ScriptRule {
  const rule = objectOf(value, 'a rule');
  const {
    match = {},
    answer,
    title,
    fields,
    actions,
    data,
    delay_ms = 0,
    wait_ms = 0,
    fail = 0,
    ...more
  } = rule;
  const { text, command, event, ...others } = objectOf(match, 'match');
  const [unknown] = [...Object.keys(more), ...Object.keys(others)];
  if (unknown !== undefined) throw new Error(`unknown field ${unknown}`);
  if (typeof answer !== 'string') throw new Error('answer should be a text');
  return {
    text: patternOf(textOf(text, 'match.text')),
    command: textOf(command, 'match.command')?.replace(/^\//, ''),
    event: textOf(event, 'match.event'),
    answer,
    card: cardOf(title, fields, actions),
    data: data === undefined ? undefined : objectOf(data, 'data'),
    delay_ms: numberOf(delay_ms, 'delay_ms', MAX_DELAY_MS),
    wait_ms: numberOf(wait_ms, 'wait_ms', MAX_WAIT_MS),
    fail: numberOf(fail, 'fail', Number.MAX_SAFE_INTEGER),
  };
}

function cardOf(title: unknown, fields: unknown, actions: unknown): ScriptCard | undefined {
  const card: ScriptCard = {
    ...(title !== undefined && { title: textOf(title, 'title') ?? '' }),
    ...(fields !== undefined && { fields: itemsOf(fields, 'fields', ['name', 'value'], []) }),
    ...(actions !== undefined && {
      actions: itemsOf(actions, 'actions', ['id'], ['title', 'style', 'description', 'url']),
    }),
  };
  return Object.keys(card).length === 0 ? undefined : card;
}

function itemsOf(
  value: unknown,
  field: string,
  required: readonly string[],
  optional: readonly string[],
): readonly Readonly<Record<string, string>>[] {
  if (!Array.isArray(value)) throw new Error(`${field} should be a list`);
  return value.map((item: unknown, index) => {
    const where = `${field}[${index}]`;
    const members = objectOf(item, where);
    for (const name of required)
      if (members[name] === undefined) throw new Error(`${where} should have ${required.join(' and ')}`);
    const allowedNames = [...required, ...optional];
    const unknown = Object.keys(members).find((name) => !allowedNames.includes(name));
    if (unknown !== undefined) throw new Error(`${where} has no field ${unknown}`);
    const texts = Object.entries(members).map(([name, text]) => [
      name,
      textOf(text, `${where}.${name}`) ?? '',
    ]);
    return Object.fromEntries(texts) as Readonly<Record<string, string>>;
  });
}

function objectOf(value: unknown, field: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw new Error(`${field} should have fields`);
}

function textOf(value: unknown, field: string): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  throw new Error(`${field} should be a text`);
}

function patternOf(text: string | undefined): Pattern | undefined {
  if (text === undefined) return undefined;
  const pattern = compilePattern(text);
  if ('fault' in pattern) throw new Error(`match.text ${pattern.fault}`);
  return pattern;
}

function numberOf(value: unknown, field: string, max: number): number {
  if (typeof value === 'number' && value >= 0 && value <= max) return value;
  throw new Error(`${field} should be a number from 0 to ${max}`);
}
