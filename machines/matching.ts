// Which trigger takes an event, and which of its commands: a pure choice (A7). What a type of trigger filters by itself
// (repositories, branches) is asked before; here are the filters that chats share, and the score.
//
// MC1  a trigger whose filter is set and does not match is out; one without a command for the event and without a
//     default agent does not take it either, unless it needs none.
// MC2  the highest score wins: channel +100, user +80, pattern +60, platform +10. Of equal ones the one with a command
//     for the event, one that a person wrote first and then the more exact name of it, then the one with a rule for its text; then the first by name.

import type { Binding } from '../config/resources/triggers/binding.ts';
import type { Trigger } from '../config/resources/triggers/trigger.ts';
import type { TextRule } from '../config/resources/triggers/trigger-of.ts';

/** First word and rest; the text may be a command. */
export interface CommandWord {
  /** First word without its slash; may be empty. */
  readonly name: string;
  readonly rest: string;
}

export function commandWordOf(text: string): CommandWord {
  const [, name = '', rest = ''] = /^\s*\/?(\S+)\s*([\s\S]*)$/.exec(text) ?? [];
  return { name, rest };
}

/** Why nobody takes an event that somebody would take from elsewhere, or from somebody else. */
export const FILTERED = 'no filter of a trigger lets it pass';

/** Filters of a trigger, made ready; an empty one is not set. */
export interface Filters {
  /** Names or ids, without a leading `#`. */
  readonly channels: ReadonlySet<string>;
  readonly users: ReadonlySet<string>;
  readonly patterns: ReadonlyArray<(text: string) => boolean>;
}

/** The part of an event that decides. */
export interface Matchable {
  /** Names of commands it stands for, the most exact first. With any of them its text is no command. */
  readonly names: readonly string[];
  /** A command that a person wrote where names are those of events, with its slash: `/deploy`. It goes before the names. */
  readonly spoken?: string | undefined;
  readonly text: string | undefined;
  /** It was pressed or chosen, not written: patterns say nothing of it. */
  readonly isChoice?: boolean | undefined;
  readonly channel: string | undefined;
  /** Other names by which a filter may know the channel. */
  readonly channelAliases?: readonly string[] | undefined;
  readonly user: string | undefined;
  readonly userAliases?: readonly string[] | undefined;
  /** Filters alone decide who takes it: no command is needed for it, nor a default agent. */
  readonly needsNoCommand?: boolean | undefined;
}

/** The part of a trigger that decides. */
export type Routable = Pick<Trigger, 'name' | 'commands' | 'rules' | 'default_target'>;

export interface Match<T extends Routable = Trigger> {
  readonly trigger: T;
  /** Undefined: the agent of the rule is meant, or the default agent. */
  readonly binding: Binding | undefined;
  /** Of the rules of the trigger the first that holds, where no command takes the event. */
  readonly rule: TextRule | undefined;
  /** The name by which the binding was found. */
  readonly command: string | undefined;
  /** The text without the command; all of it when the command is not in the text. */
  readonly rest: string;
  readonly score: number;
}

/** Gives who takes the event, or why nobody does. */
export function matched<T extends Routable>(
  triggers: readonly T[],
  event: Matchable,
  filtersOf: (trigger: T) => Filters | undefined = () => undefined,
): Match<T> | string {
  let best: Candidate<T> | undefined;
  let reason = 'there is no trigger for it';
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
    ? 'no trigger has a command for it, or a default_agent'
    : reason;
}

/** Undefined when a filter does not match. */
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
    // Everybody is no match that says something.
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

interface Candidate<T extends Routable> extends Match<T> {
  /** How exact the name was; the lower, the more. */
  readonly rank: number;
}

function candidateOf<T extends Routable>(
  trigger: T,
  event: Matchable,
  score: number,
): Candidate<T> | undefined {
  const text = event.text ?? '';
  const spoken = trigger.commands.find(({ command }) => command === event.spoken);
  if (spoken !== undefined) {
    const { rest } = commandWordOf(text);
    return { trigger, binding: spoken, rule: undefined, command: spoken.command, rest, score, rank: -1 };
  }
  for (const [rank, name] of event.names.entries()) {
    const binding = bindingOf(trigger, name);
    if (binding !== undefined)
      return { trigger, binding, rule: undefined, command: binding.command, rest: text, score, rank };
  }
  if (event.names.length === 0) {
    const { name, rest } = commandWordOf(text);
    const binding = bindingOf(trigger, name);
    if (binding !== undefined)
      return { trigger, binding, rule: undefined, command: binding.command, rest, score, rank: 0 };
  }
  const rule = trigger.rules && ruleFor(trigger.rules, text);
  const isAnswered = rule !== undefined || trigger.default_target !== undefined;
  if (!isAnswered && event.needsNoCommand !== true) return undefined;
  const rank = rule === undefined ? Number.POSITIVE_INFINITY : Number.MAX_SAFE_INTEGER;
  return { trigger, binding: undefined, rule, command: undefined, rest: text, score, rank };
}

/** Words are compared without regard to case. */
function ruleFor(rules: readonly TextRule[], text: string): TextRule | undefined {
  const said = text.toLowerCase();
  return rules.find(({ contains }) => contains.some((word) => said.includes(word)));
}

function bindingOf(trigger: Routable, name: string): Binding | undefined {
  const plain = name.startsWith('/') ? name.slice(1) : name;
  return trigger.commands.find(({ command }) => command === plain);
}

function isBefore(a: Candidate<Routable>, b: Candidate<Routable>): boolean {
  if (a.score !== b.score) return a.score > b.score;
  if (a.rank !== b.rank) return a.rank < b.rank;
  return a.trigger.name < b.trigger.name;
}
