// Selects the trigger and the command for an event; a pure function. Filters for a single trigger type
// (repositories, branches) are checked earlier; this file has the filters that all chats share, and the
// score.
//
// - A trigger is excluded if one of its filters does not match. It is also excluded if it has neither a
//   matching command, a text rule nor a default agent, unless the event has `needsNoCommand`.
// - The highest score wins: channel +100, user +80, pattern +60, platform +10. Ties are resolved by: a
//   command typed by a person, the more exact command name, a text rule, the trigger name.

import type { Binding } from '../config/resources/triggers/binding.ts';
import type { Trigger } from '../config/resources/triggers/trigger.ts';
import type { TextRule } from '../config/resources/triggers/trigger-of.ts';

/** First word and rest; the text may be a command. */
export interface CommandWord {
  /** First word without slash; may be empty. */
  readonly name: string;
  readonly rest: string;
}

export function commandWordOf(text: string): CommandWord {
  const [, name = '', rest = ''] = /^\/?(\S+)\s*([\s\S]*)$/.exec(withoutLeadingMarks(text)) ?? [];
  return { name, rest };
}

/** Removes leading white space, and invisible characters from keyboards or copied text. */
export const withoutLeadingMarks = (text: string): string =>
  text.replace(/^[\s\p{Default_Ignorable_Code_Point}\u2800]+/u, '');

/** Returns the name in lower case, excluding invisible characters. */
const folded = (name: string): string =>
  name
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .normalize('NFC')
    .toLowerCase();

/** Result of `matchTrigger` if the filters of all triggers exclude the event. */
export const FILTERED = 'no filter of a trigger lets it pass';

/** Compiled trigger filters; empty sets are inactive. */
export interface Filters {
  /** Names or ids; a leading `#` is removed. */
  readonly channels: ReadonlySet<string>;
  readonly users: ReadonlySet<string>;
  readonly patterns: ReadonlyArray<(text: string) => boolean>;
}

/** Event properties used for the selection. */
export interface Matchable {
  /** Command names for the event, the most exact first. If there are any, the text is not a command. */
  readonly names: readonly string[];
  /**
   * Command typed by a person, with its slash (`/deploy`), on platforms where `names` are event names. It
   * takes precedence over `names`.
   */
  readonly typedCommand?: string | undefined;
  readonly text: string | undefined;
  /** The event is a click or selection: patterns do not apply. */
  readonly isChoice?: boolean | undefined;
  readonly channel: string | undefined;
  /** Other names of the channel for filters. */
  readonly channelAliases?: readonly string[] | undefined;
  readonly user: string | undefined;
  readonly userAliases?: readonly string[] | undefined;
  /** Only the filters decide: the trigger needs neither a command nor a default agent. */
  readonly needsNoCommand?: boolean | undefined;
}

/** Trigger properties used for the selection. */
export type Routable = Pick<Trigger, 'name' | 'commands' | 'rules' | 'default_target'>;

export interface Match<T extends Routable = Trigger> {
  readonly trigger: T;
  /** Undefined: use the rule's agent or the default agent. */
  readonly binding: Binding | undefined;
  /** First matching rule of the trigger, if no command matches. */
  readonly rule: TextRule | undefined;
  /** Name by which the binding was found. */
  readonly command: string | undefined;
  /** Text without the command; the whole text if it contains none. */
  readonly rest: string;
  readonly score: number;
}

/** Returns the selected trigger, or why there is none. */
export function matchTrigger<T extends Routable>(
  triggers: readonly T[],
  event: Matchable,
  filtersOf: (trigger: T) => Filters | undefined = () => undefined,
): Match<T> | string {
  let best: TriggerCandidate<T> | undefined;
  let reason = 'no trigger for this event';
  for (const trigger of triggers) {
    const score = scoreOf(filtersOf(trigger), event);
    if (score === undefined) {
      reason = FILTERED;
      continue;
    }
    const candidate = candidateOf(trigger, event, score);
    if (candidate === undefined) continue;
    if (best === undefined || isBefore(candidate, best)) best = candidate;
  }
  if (best !== undefined) return best;
  return triggers.some((trigger) => scoreOf(filtersOf(trigger), event) !== undefined)
    ? 'no trigger has a matching command or a default_agent'
    : reason;
}

/** Returns the score; undefined if a filter does not match. */
export function scoreOf(filters: Filters | undefined, event: Matchable): number | undefined {
  const platform = 10;
  if (filters === undefined) return platform;
  const { channels, users, patterns } = filters;
  let score = platform;
  if (channels.size > 0) {
    if (!isNamedIn(channels, event.channel?.replace(/^#/, ''), event.channelAliases)) return undefined;
    score += 100;
  }
  if (users.size > 0) {
    const isNamed = isNamedIn(users, event.user, event.userAliases);
    if (!isNamed && !users.has('*')) return undefined;
    // The wildcard is not a specific match.
    if (isNamed) score += 80;
  }
  if (patterns.length > 0 && event.isChoice !== true) {
    const { text } = event;
    if (text === undefined || !patterns.some((matches) => matches(text))) return undefined;
    score += 60;
  }
  return score;
}

function isNamedIn(
  names: ReadonlySet<string>,
  name: string | undefined,
  aliases: readonly string[] = [],
): boolean {
  return (name !== undefined && names.has(name)) || aliases.some((alias) => names.has(alias));
}

interface TriggerCandidate<T extends Routable> extends Match<T> {
  /** Exactness of the name; lower is more exact. */
  readonly rank: number;
}

function candidateOf<T extends Routable>(
  trigger: T,
  event: Matchable,
  score: number,
): TriggerCandidate<T> | undefined {
  const text = event.text ?? '';
  let rank = 0;
  for (const words of commandWordsOf(event, text))
    for (const find of [exactBinding, foldedBinding])
      for (const { name, rest } of words) {
        const binding = find(trigger, name);
        if (binding !== undefined)
          return { trigger, binding, rule: undefined, command: binding.command, rest, score, rank };
        rank += 1;
      }
  const rule = trigger.rules && ruleFor(trigger.rules, text);
  const isAnswered = rule !== undefined || trigger.default_target !== undefined;
  if (!isAnswered && event.needsNoCommand !== true) return undefined;
  const last = rule === undefined ? Number.POSITIVE_INFINITY : Number.MAX_SAFE_INTEGER;
  return { trigger, binding: undefined, rule, command: undefined, rest: text, score, rank: last };
}

/** Returns the first rule that matches the text, ignoring case. */
function ruleFor(rules: readonly TextRule[], text: string): TextRule | undefined {
  const lowerText = text.toLowerCase();
  return rules.find(({ contains }) => contains.some((word) => lowerText.includes(word)));
}

/** Returns possible command words: the typed command, then the event names or the first word. */
function commandWordsOf(
  { typedCommand, names }: Matchable,
  text: string,
): readonly (readonly CommandWord[])[] {
  const first = commandWordOf(text);
  // On platforms with typed commands, the configured commands keep their slash.
  const typed = typedCommand === undefined ? [] : [{ name: typedCommand, rest: first.rest }];
  const named = names.map((name) => ({ name: withoutSlash(name), rest: text }));
  return [typed, names.length === 0 ? [{ ...first, name: withoutSlash(first.name) }] : named];
}

const withoutSlash = (name: string) => (name.startsWith('/') ? name.slice(1) : name);

/** Finds a command by name, first with equal letter case. */
export const bindingNamed = (trigger: Pick<Routable, 'commands'>, name: string): Binding | undefined =>
  exactBinding(trigger, name) ?? foldedBinding(trigger, name);

const exactBinding = ({ commands }: Pick<Routable, 'commands'>, name: string): Binding | undefined =>
  commands.find(({ command }) => command === name);

/** Ignores letter case and invisible characters. */
function foldedBinding({ commands }: Pick<Routable, 'commands'>, name: string): Binding | undefined {
  if (commands.length === 0) return undefined;
  const foldedName = folded(name);
  return commands.find(({ command }) => folded(command) === foldedName);
}

function isBefore(a: TriggerCandidate<Routable>, b: TriggerCandidate<Routable>): boolean {
  if (a.score !== b.score) return a.score > b.score;
  if (a.rank !== b.rank) return a.rank < b.rank;
  return a.trigger.name < b.trigger.name;
}
