// Compares the commands (keys in `spec.commands`) and filters of two triggers, to warn of ambiguous triggers:
// both accept and handle the same event. For two patterns with wildcards only the text before the first and
// after the last wildcard is compared, so some patterns count as overlapping although no name matches both.

import type { TriggerOf } from './trigger-of.ts';

type TriggerCommands = Pick<TriggerOf<string, unknown>, 'commands' | 'default_target'>;

/**
 * Returns the commands that both triggers have. Undefined in the list means that both have a default target,
 * which handles the events without a matching command.
 */
export function commandsInCommon(a: TriggerCommands, b: TriggerCommands): readonly (string | undefined)[] {
  const names = new Set(b.commands.map(({ command }) => command));
  const shared = a.commands.map(({ command }) => command).filter((command) => names.has(command));
  const haveDefaults = a.default_target !== undefined && b.default_target !== undefined;
  return haveDefaults ? [...shared, undefined] : shared;
}

interface Secrets {
  readonly webhook_secret: string | undefined;
  readonly webhook_secret_previous: string | undefined;
}

/** Returns true if a request can be valid for both triggers, by a common secret or without a signature. */
export function haveSecretInCommon(a: Secrets, b: Secrets): boolean {
  const others = secretsOf(b);
  return secretsOf(a).some((secret) => others.includes(secret));
}

/** Returns the accepted secrets; '' represents unsigned events. */
function secretsOf({ webhook_secret = '', webhook_secret_previous }: Secrets): readonly string[] {
  return webhook_secret_previous === undefined ? [webhook_secret] : [webhook_secret, webhook_secret_previous];
}

/**
 * Returns true if a value can match both lists. An empty list matches everything. `doMeet` compares two
 * items; with `isCaseless` their case is ignored.
 */
export function doListsOverlap(
  a: readonly string[],
  b: readonly string[],
  doMeet: (a: string, b: string) => boolean,
  isCaseless = false,
): boolean {
  if (a.length === 0 || b.length === 0) return true;
  const as = isCaseless ? a.map((each) => each.toLowerCase()) : a;
  const bs = isCaseless ? b.map((each) => each.toLowerCase()) : b;
  return as.some((each) => bs.some((other) => doMeet(each, other)));
}

/** Returns true if two names with wildcards can match the same name. */
export function doNamesOverlap(a: string, b: string): boolean {
  if (!hasWildcard(a)) return hasWildcard(b) ? doNamesOverlap(b, a) : a === b;
  const [beginA, endA] = fixedEnds(a);
  if (!hasWildcard(b)) return b.startsWith(beginA) && b.endsWith(endA);
  const [beginB, endB] = fixedEnds(b);
  const doBegin = beginA.startsWith(beginB) || beginB.startsWith(beginA);
  return doBegin && (endA.endsWith(endB) || endB.endsWith(endA));
}

function hasWildcard(name: string): boolean {
  return /[*?]/.test(name);
}

/** Returns the text before the first wildcard and after the last one. */
function fixedEnds(pattern: string): readonly [string, string] {
  return [/^[^*?]*/.exec(pattern)?.[0] ?? '', /[^*?]*$/.exec(pattern)?.[0] ?? ''];
}
