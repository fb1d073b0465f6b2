// Reads the choices and inputs of a pressed card. `Action.Submit` arrives as a message with a `value` and no
// text, `Action.Execute` as an invoke. Cards of the gateway contain the action id in `actionId`; cards of
// other apps use other members.

import { textMember } from '../payloads/payload-member.ts';

/** Member of action data that contains the action id. */
export const ACTION_ID = 'actionId';

export interface CardChoice {
  /** Name of the action; if missing, all values of the data. */
  readonly text: string;
  /**
   * Text, number and boolean members of the data, limited by MAX_PARAMETERS and MAX_NAME. Names of nested
   * members contain dots.
   */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Maximum number of parameters, more than any card has. */
const MAX_PARAMETERS = 200;
const MAX_DEPTH = 4;
/** Maximum name length, including its parents. Longer names remain in the payload only. */
const MAX_NAME = 200;
/** Members that may contain the name of an action; all but the first are from cards of other apps. */
const NAMES = [ACTION_ID, 'action', 'verb', 'id'];

/**
 * Returns the action id of a pressed card of the gateway, from a message's or invoke's `value`; undefined for
 * cards of other apps.
 */
export function actionIdIn(value: unknown): string | undefined {
  return textMember(value, ACTION_ID, `action.data.${ACTION_ID}`);
}

/** Reads a message's `value`; undefined if missing. */
export function submittedChoice(value: unknown): CardChoice | undefined {
  if (value === undefined || value === null) return undefined;
  return choiceOf(value, undefined);
}

/** Reads the `value` of an `adaptiveCard/action` invoke; undefined if it contains no action. */
export function invokedChoice(value: unknown): CardChoice | undefined {
  const action = isObject(value) ? value.action : undefined;
  if (!isObject(action)) return undefined;
  const verb = textMember(action, 'verb');
  const name = textMember(action.data, ACTION_ID, 'action') ?? verb ?? textMember(action, 'id');
  const choice = choiceOf(action.data ?? {}, name);
  return verb === undefined ? choice : { ...choice, parameters: { verb, ...choice.parameters } };
}

function choiceOf(data: unknown, name: string | undefined): CardChoice {
  const parameters = parametersIn(data);
  const actionName = [name, ...NAMES.map((each) => parameters[each])].find(
    (each) => each !== undefined && each !== '',
  );
  return { text: actionName ?? Object.values(parameters).join(' '), parameters };
}

function parametersIn(data: unknown): Readonly<Record<string, string>> {
  if (isScalar(data)) return { value: String(data) };
  const scalars = scalarsIn(data, '', 0).slice(0, MAX_PARAMETERS);
  return Object.fromEntries(scalars.map(([name, value]) => [name, String(value)]));
}

function scalarsIn(data: unknown, prefix: string, depth: number): readonly (readonly [string, unknown])[] {
  if (typeof data !== 'object' || data === null || depth === MAX_DEPTH) return [];
  return Object.entries(data).flatMap(([last, value]) => {
    const name = prefix + last;
    if (name.length > MAX_NAME) return [];
    return isScalar(value) ? [[name, value] as const] : scalarsIn(value, `${name}.`, depth + 1);
  });
}

function isScalar(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
