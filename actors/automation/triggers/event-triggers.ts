// Selects the trigger for an event from the loaded triggers, by adapter filters, chat filters and commands.
// If no trigger matches, the sender may get a notice; noticeSender selects the trigger that sends it.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import {
  FILTERED,
  type Filters,
  type Match,
  type Matchable,
  matchTrigger,
  scoreOf,
} from '../../../machines/matching.ts';
import { type BuiltInCommand, builtInCommand } from '../../events/built-in-commands.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import type { Notice } from '../../events/inbox/work.ts';
import type { Adapter } from '../../platforms/adapter.ts';
import { welcomeOf } from '../conversations/welcome.ts';

/** Loaded and enabled triggers. */
export interface TriggerLookup {
  trigger(name: string): Trigger | undefined;
  triggers(): readonly Trigger[];
}

/** The matching trigger, with the built-in command, if any. */
export interface TriggerMatch extends Match {
  readonly builtIn?: BuiltInCommand | undefined;
  /** The sender pressed the platform's start button, and receives a greeting. */
  readonly isGreeting?: boolean | undefined;
}

const NO_CHANNELS: ReadonlySet<string> = new Set();

/** No trigger matches. */
export interface NoMatch {
  /** Reason for the record. */
  readonly note: string;
  /** Reason for the sender. */
  readonly notice: Notice;
}

export class EventTriggers {
  readonly #lookup: TriggerLookup;
  /** Compiled filters. A reload creates new trigger objects, so no entry is outdated. */
  readonly #filters = new WeakMap<Trigger, Filters>();

  constructor(lookup: TriggerLookup) {
    this.#lookup = lookup;
  }

  /** Returns the trigger and action, or the reason for rejection. */
  match(adapter: Adapter, inbound: InboundEvent): TriggerMatch | NoMatch {
    const candidates = this.#candidates(adapter, inbound);
    if (candidates.length === 0) return noMatch('its triggers were removed or disabled');
    const sameAccount = candidates.filter((trigger) => isOfAccount(adapter, trigger, inbound));
    if (sameAccount.length === 0) return noMatch('its triggers use another account now');
    // A verdict is true or false, or a text with the reason why the trigger does not accept the event.
    const verdicts = sameAccount.map((trigger) => adapter.accepts?.(trigger, inbound) ?? true);
    const accepting = sameAccount.filter((_, index) => verdicts[index] === true);
    if (accepting.length === 0)
      return { note: verdicts.find((verdict) => typeof verdict === 'string') ?? FILTERED, notice: 'refused' };
    if (inbound.isWordless === true) return this.#best(adapter, accepting, filtered(inbound));
    if (inbound.unsupported !== undefined) return noMatch(inbound.unsupported);
    if (inbound.isArrival === true) return this.#greeter(adapter, inbound, accepting);
    if (inbound.isStart === true) return this.#starter(adapter, inbound, accepting);
    // A choice is a press on a button or form that an agent created: never a built-in command.
    const mayBeBuiltIn = adapter.hasBuiltIns === true && inbound.isChoice !== true;
    const builtIn = mayBeBuiltIn ? builtInCommand(inbound.names[0] ?? '') : undefined;
    if (builtIn === undefined) return this.#best(adapter, accepting, inbound);
    // Each trigger answers built-in commands, even a trigger that accepts only its own commands. But a
    // command of a trigger (a binding) has precedence over the built-in command of the same name.
    const match = this.#best(adapter, accepting, { ...inbound, needsNoCommand: true });
    return 'trigger' in match && match.binding === undefined ? { ...match, builtIn } : match;
  }

  /**
   * Returns the trigger with this name, if it still exists and still uses the event's account. Does not apply
   * its filters.
   */
  triggerOfAccount(
    adapter: Adapter,
    inbound: InboundEvent,
    name: string | undefined,
  ): Pick<Match, 'trigger'> | undefined {
    const trigger = name === undefined ? undefined : this.#lookup.trigger(name);
    if (trigger?.type !== adapter.type || !isOfAccount(adapter, trigger, inbound)) return undefined;
    return { trigger };
  }

  /** Returns the triggers with matching filters. */
  triggersAccepting(adapter: Adapter, inbound: InboundEvent): readonly Trigger[] {
    return this.#candidates(adapter, inbound).filter(
      (trigger) =>
        isOfAccount(adapter, trigger, inbound) &&
        (adapter.accepts?.(trigger, inbound) ?? true) === true &&
        scoreOf(this.#filtersOf(adapter, trigger), inbound) !== undefined,
    );
  }

  /** Selects a trigger that greets arrivals. */
  #greeter(adapter: Adapter, inbound: InboundEvent, accepting: readonly Trigger[]): Match | NoMatch {
    const greeting = accepting.filter((trigger) => welcomeOf(trigger) !== undefined);
    if (greeting.length === 0) return noMatch('no trigger has a welcome');
    // An arrival (the bot joined a conversation) contains no text.
    return this.#best(adapter, greeting, { ...filtered(inbound), isChoice: true });
  }

  /**
   * Selects the trigger that answers the start button, preferably with a written welcome. If the trigger has
   * a command of this name or an empty welcome, the press is handled like any message.
   */
  #starter(adapter: Adapter, inbound: InboundEvent, accepting: readonly Trigger[]): TriggerMatch | NoMatch {
    const start = { ...inbound, isChoice: true, needsNoCommand: true };
    const match = this.#best(adapter, accepting, start);
    if (!('trigger' in match) || match.binding !== undefined) return match;
    const welcoming = accepting.filter(({ welcome }) => welcome !== undefined);
    const written = this.#best(adapter, welcoming, start);
    const greeter = 'trigger' in written ? written : match;
    if (greeter.trigger.welcome === '') return this.#best(adapter, accepting, inbound);
    return { ...greeter, isGreeting: true };
  }

  #best(adapter: Adapter, triggers: readonly Trigger[], event: Matchable): Match | NoMatch {
    const match = matchTrigger(triggers, event, (trigger) => this.#filtersOf(adapter, trigger));
    if (typeof match !== 'string') return match;
    return match === FILTERED ? { note: match, notice: 'refused' } : noMatch(match);
  }

  /**
   * Returns the event completed with data from the platform, and the trigger used for the request; undefined
   * for most events.
   */
  completion(
    adapter: Adapter,
    inbound: InboundEvent,
  ): { readonly trigger: Trigger; readonly event: Promise<InboundEvent> } | undefined {
    if (adapter.addLookups === undefined) return undefined;
    const triggers = this.#candidates(adapter, inbound).filter(
      (trigger) => isOfAccount(adapter, trigger, inbound) && this.#mayAccept(adapter, trigger, inbound),
    );
    if (triggers.length === 0) return undefined;
    const event = adapter.addLookups(inbound, triggers);
    const [trigger] = triggers;
    return event === undefined || trigger === undefined ? undefined : { trigger, event };
  }

  /** Returns true if the trigger may accept the event, ignoring channel filters. */
  #mayAccept(adapter: Adapter, trigger: Trigger, inbound: InboundEvent): boolean {
    const filters = this.#filtersOf(adapter, trigger);
    if (inbound.isArrival === true) return welcomeOf(trigger) !== undefined;
    const needsNoCommand = adapter.hasBuiltIns === true || inbound.isWordless === true;
    const withoutChannels = filters && { ...filters, channels: NO_CHANNELS };
    return typeof matchTrigger([trigger], { ...inbound, needsNoCommand }, () => withoutChannels) !== 'string';
  }

  /** Returns a trigger that can send a notice about the event, if any. */
  noticeSender(adapter: Adapter, inbound: InboundEvent): Trigger | undefined {
    const candidates = this.#candidates(adapter, inbound);
    const others = inbound.account === undefined ? [] : this.#lookup.triggers();
    return [...candidates, ...others].find(
      (trigger) => trigger.type === adapter.type && isOfAccount(adapter, trigger, inbound),
    );
  }

  #candidates(adapter: Adapter, { triggers }: InboundEvent): readonly Trigger[] {
    return triggers.flatMap((name) => {
      const trigger = this.#lookup.trigger(name);
      return trigger?.type === adapter.type ? [trigger] : [];
    });
  }

  #filtersOf(adapter: Adapter, trigger: Trigger): Filters | undefined {
    if (adapter.filters === undefined) return undefined;
    let filters = this.#filters.get(trigger);
    if (filters === undefined) {
      filters = adapter.filters(trigger);
      this.#filters.set(trigger, filters);
    }
    return filters;
  }
}

/** Removes the text, so that only filters select a trigger. */
const filtered = (inbound: InboundEvent): Matchable => ({
  ...inbound,
  names: [],
  text: undefined,
  needsNoCommand: true,
});

/**
 * Returns the result for an event that no trigger accepts. If only its place or sender is not allowed, the
 * notice is `refused` instead.
 */
const noMatch = (note: string): NoMatch => ({ note, notice: 'unmatched' });

/**
 * Returns false if the event belongs to another account than the trigger uses now, after a reload. The
 * trigger must not answer then. An event without an account belongs to each trigger.
 */
function isOfAccount(adapter: Adapter, trigger: Trigger, { account }: InboundEvent): boolean {
  return account === undefined || adapter.account?.(trigger) === account;
}
