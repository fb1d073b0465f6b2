// What somebody chose or filled in on a card: `Action.Submit` comes as a message with a `value` and no text, or within an invoke
// as `Action.Execute` does. Cards of ours say which action it was in `actionId`; cards of others have names of their own.

import { textMember } from '../payloads/payload-member.ts';

/** The member of an action's data that says which one it is. */
export const ACTION_ID = 'actionId';

export interface Choice {
  /** The action's name, or all that the data says where it has none. */
  readonly text: string;
  /**
   * Each member of the data that is a text, a number or a truth, up to MAX_PARAMETERS with names up to MAX_NAME; of members within
   * members with a dot between.
   */
  readonly parameters: Readonly<Record<string, string>>;
}

/** More than any card asks for. */
const MAX_PARAMETERS = 200;
const MAX_DEPTH = 4;
/** Of a parameter, with the names that it is within. What is longer is in the payload alone. */
const MAX_NAME = 200;
/** Where a name is found in data that others made. */
const NAMES = [ACTION_ID, 'action', 'verb', 'id'];

/** The id of an action of ours that was pressed, in `value` of a message or an invoke; undefined for what others have made. */
export function pressedIn(value: unknown): string | undefined {
  return textMember(value, ACTION_ID, `action.data.${ACTION_ID}`);
}

/** `value` of a message. Undefined for what is none. */
export function submittedIn(value: unknown): Choice | undefined {
  if (value === undefined || value === null) return undefined;
  return choiceOf(value, undefined);
}

/** `value` of an invoke `adaptiveCard/action`. Undefined where it has no action. */
export function invokedIn(value: unknown): Choice | undefined {
  const action = isObject(value) ? value.action : undefined;
  if (!isObject(action)) return undefined;
  const verb = textMember(action, 'verb');
  const name = textMember(action.data, ACTION_ID, 'action') ?? verb ?? textMember(action, 'id');
  const choice = choiceOf(action.data ?? {}, name);
  return verb === undefined ? choice : { ...choice, parameters: { verb, ...choice.parameters } };
}

function choiceOf(data: unknown, name: string | undefined): Choice {
  const parameters = parametersIn(data);
  const called = [name, ...NAMES.map((each) => parameters[each])].find(
    (each) => each !== undefined && each !== '',
  );
  return { text: called ?? Object.values(parameters).join(' '), parameters };
}

function parametersIn(data: unknown): Readonly<Record<string, string>> {
  if (isSaid(data)) return { value: String(data) };
  const said = saidWithin(data, '', 0).slice(0, MAX_PARAMETERS);
  return Object.fromEntries(said.map(([name, value]) => [name, String(value)]));
}

function saidWithin(data: unknown, prefix: string, depth: number): readonly (readonly [string, unknown])[] {
  if (typeof data !== 'object' || data === null || depth === MAX_DEPTH) return [];
  return Object.entries(data).flatMap(([last, value]) => {
    const name = prefix + last;
    if (name.length > MAX_NAME) return [];
    return isSaid(value) ? [[name, value] as const] : saidWithin(value, `${name}.`, depth + 1);
  });
}

function isSaid(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
