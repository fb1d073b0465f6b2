// What types need to say whether two of their triggers are ambiguous: whether there is an event that both accept, and for which
// both have a command or a default agent. What is certain to be apart is not ambiguous; of two wildcards only their beginnings
// and ends are compared, so that some that are apart count as ambiguous.

import type { TriggerOf } from './trigger-of.ts';

type Answering = Pick<TriggerOf<string, unknown>, 'commands' | 'default_target'>;

/** What both would answer, in the same rank; undefined stands for what no command takes. */
export function commandsInCommon(a: Answering, b: Answering): readonly (string | undefined)[] {
  const names = new Set(b.commands.map(({ command }) => command));
  const shared = a.commands.map(({ command }) => command).filter((command) => names.has(command));
  const haveDefaults = a.default_target !== undefined && b.default_target !== undefined;
  return haveDefaults ? [...shared, undefined] : shared;
}

interface Secrets {
  readonly webhook_secret: string | undefined;
  readonly webhook_secret_previous: string | undefined;
}

export function haveSecretInCommon(a: Secrets, b: Secrets): boolean {
  const others = secretsOf(b);
  return secretsOf(a).some((secret) => others.includes(secret));
}

/** Without any, '' stands for what both accept unsigned. */
function secretsOf({ webhook_secret = '', webhook_secret_previous }: Secrets): readonly string[] {
  return webhook_secret_previous === undefined ? [webhook_secret] : [webhook_secret, webhook_secret_previous];
}

/** A list without items stands for everything. */
export function doListsMeet(
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

/** Of names with wildcards. */
export function doNamesMeet(a: string, b: string): boolean {
  if (!hasWildcard(a)) return hasWildcard(b) ? doNamesMeet(b, a) : a === b;
  const [beginA, endA] = fixedEnds(a);
  if (!hasWildcard(b)) return b.startsWith(beginA) && b.endsWith(endA);
  const [beginB, endB] = fixedEnds(b);
  const doBegin = beginA.startsWith(beginB) || beginB.startsWith(beginA);
  return doBegin && (endA.endsWith(endB) || endB.endsWith(endA));
}

function hasWildcard(name: string): boolean {
  return /[*?]/.test(name);
}

/** What stands before the first wildcard, and after the last. */
function fixedEnds(pattern: string): readonly [string, string] {
  return [/^[^*?]*/.exec(pattern)?.[0] ?? '', /[^*?]*$/.exec(pattern)?.[0] ?? ''];
}
