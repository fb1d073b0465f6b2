// Two triggers of one path between which only their names decide: an event that both accept, and for which both have a
// command or a default agent. What is certain to be apart (other secrets, methods, repositories, events, and branches for
// events that have just one) is no tie; of two wildcards only their beginnings and ends are compared, so that some that
// are apart count as a tie.

import { eventsOfAnyBranch } from './repo-events.ts';
import type { BusinessMessengerTrigger, HttpTrigger, RepoHostTrigger, Trigger } from './trigger.ts';

/** Whether there may be an event of which only the names of two triggers of one path decide who gets it. */
export function areAmbiguous(a: Trigger, b: Trigger): boolean {
  if (a.type === 'RepoHost' && b.type === 'RepoHost') return doReposMeet(a, b);
  if (a.type === 'HTTP' && b.type === 'HTTP') return doRequestsMeet(a, b) && sharedCommands(a, b).length > 0;
  if (a.type === 'BusinessMessenger' && b.type === 'BusinessMessenger') return doMessagesMeet(a, b);
  return false;
}

/** What both would answer, in the same rank; undefined stands for what no command takes. */
function sharedCommands(a: Trigger, b: Trigger): readonly (string | undefined)[] {
  const names = new Set(b.commands.map(({ command }) => command));
  const shared = a.commands.map(({ command }) => command).filter((command) => names.has(command));
  const haveDefaults = a.default_agent !== undefined && b.default_agent !== undefined;
  return haveDefaults ? [...shared, undefined] : shared;
}

function doRequestsMeet({ config: a }: HttpTrigger, { config: b }: HttpTrigger): boolean {
  if (!a.methods.some((method) => b.methods.includes(method))) return false;
  if (!haveSecretInCommon(a, b)) return false;
  if (a.webhook_secret !== undefined && (a.scheme !== b.scheme || a.signature_header !== b.signature_header))
    return false;
  return Object.entries(a.required_headers).every(([name, value]) => {
    const other = b.required_headers[name] ?? '*';
    return value === '*' || other === '*' || value === other;
  });
}

/** Whoever may write to one may write to both, unless their lists have nobody in common. */
function doMessagesMeet(a: BusinessMessengerTrigger, b: BusinessMessengerTrigger): boolean {
  if (a.config.phone_number_id !== b.config.phone_number_id || a.config.app_secret !== b.config.app_secret)
    return false;
  const as = [...a.config.allowed_numbers, ...a.config.allowed_users];
  const bs = [...b.config.allowed_numbers, ...b.config.allowed_users];
  if (!doListsMeet(as, bs, (one, other) => one === other)) return false;
  const haveRules = (a.rules ?? []).length > 0 && (b.rules ?? []).length > 0;
  return haveRules || sharedCommands(a, b).length > 0;
}

function doReposMeet(a: RepoHostTrigger, b: RepoHostTrigger): boolean {
  if (!haveSecretInCommon(a.config, b.config)) return false;
  if (!doListsMeet(a.config.repositories, b.config.repositories, doNamesMeet, true)) return false;
  const { repo_events: as } = a.config;
  const { repo_events: bs } = b.config;
  const commands = sharedCommands(a, b).map((command) => (command === undefined ? [] : [command]));
  const areOfOneBranch = doListsMeet(a.config.branches, b.config.branches, doNamesMeet);
  const reaches = areOfOneBranch ? [[]] : eventsOfAnyBranch.map((event) => [event]);
  return commands.some((command) => reaches.some((reach) => haveEventInCommon([as, bs, command, reach])));
}

interface Secrets {
  readonly webhook_secret: string | undefined;
  readonly webhook_secret_previous: string | undefined;
}

function haveSecretInCommon(a: Secrets, b: Secrets): boolean {
  const others = secretsOf(b);
  return secretsOf(a).some((secret) => others.includes(secret));
}

/** Without any, '' stands for what both accept unsigned. */
function secretsOf({ webhook_secret = '', webhook_secret_previous }: Secrets): readonly string[] {
  return webhook_secret_previous === undefined ? [webhook_secret] : [webhook_secret, webhook_secret_previous];
}

/** A list without items stands for everything. */
function doListsMeet(
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

/** Whether there is an event that each of the lists takes. */
function haveEventInCommon(lists: readonly (readonly string[])[]): boolean {
  const [first = [], ...others] = lists.filter((list) => list.length > 0);
  if (others.length === 0) return true;
  // Of two that meet one is the other, or an action of it: what both stand for is the longer one.
  const [second = [], ...rest] = others;
  const common = first.flatMap((each) =>
    second.filter((other) => doEventsMeet(each, other)).map((other) => longer(each, other)),
  );
  return common.length > 0 && haveEventInCommon([common, ...rest]);
}

const longer = (one: string, other: string) => (one.length < other.length ? other : one);

/** `pull_request` stands for all of its actions. */
function doEventsMeet(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`);
}

function doNamesMeet(a: string, b: string): boolean {
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
