// Which trigger takes an event, by the files as they are now: what its adapter filters by itself, the filters of chats, and the
// commands. And which one speaks for the gateway where none of them does.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import {
  FILTERED,
  type Filters,
  type Match,
  type Matchable,
  matched,
  scoreOf,
} from '../../../machines/matching.ts';
import { type BuiltInCommand, builtInCommand } from '../../events/built-in-commands.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import type { Notice } from '../../events/inbox/work.ts';
import type { Adapter } from '../../platforms/adapter.ts';
import { welcomeOf } from '../conversations/welcome.ts';

/** Triggers that are loaded and enabled. */
export interface TriggerLookup {
  trigger(name: string): Trigger | undefined;
  triggers(): readonly Trigger[];
}

/** A trigger takes it, or a built-in command does in its name. */
export interface Taking extends Match {
  readonly builtIn?: BuiltInCommand | undefined;
}

const NO_CHANNELS: ReadonlySet<string> = new Set();

/** Nobody takes it. */
export interface Untaken {
  /** Why, for the record. */
  readonly note: string;
  /** The same, for whoever sent it. */
  readonly notice: Notice;
}

export class EventTriggers {
  readonly #lookup: TriggerLookup;
  /** A trigger that a reload has changed is another one. */
  readonly #filters = new WeakMap<Trigger, Filters>();

  constructor(lookup: TriggerLookup) {
    this.#lookup = lookup;
  }

  /** The trigger and what it does, or why there is none. */
  match(adapter: Adapter, inbound: InboundEvent): Taking | Untaken {
    const known = this.#known(adapter, inbound);
    if (known.length === 0) return untaken('the triggers it came for are gone or switched off');
    const own = known.filter((trigger) => isOfAccount(adapter, trigger, inbound));
    if (own.length === 0) return untaken('the triggers it came for use another account now');
    const verdicts = own.map((trigger) => adapter.takes?.(trigger, inbound) ?? true);
    const taking = own.filter((_, index) => verdicts[index] === true);
    if (taking.length === 0)
      return { note: verdicts.find((verdict) => typeof verdict === 'string') ?? FILTERED, notice: 'refused' };
    if (inbound.unsupported !== undefined) return untaken(inbound.unsupported);
    if (inbound.isArrival === true) return this.#greeter(adapter, inbound, taking);
    // What an agent has made to be pressed or filled in means no built-in command, however it is called.
    const mayBeBuiltIn = adapter.hasBuiltIns === true && inbound.isChoice !== true;
    const builtIn = mayBeBuiltIn ? builtInCommand(inbound.names[0] ?? '') : undefined;
    if (builtIn === undefined) return this.#best(adapter, taking, inbound);
    const match = this.#best(adapter, taking, { ...inbound, needsNoCommand: true });
    return 'trigger' in match && match.binding === undefined ? { ...match, builtIn } : match;
  }

  /** The trigger of that name, which has taken the event; undefined where it is gone, or for another account now. */
  taker(
    adapter: Adapter,
    inbound: InboundEvent,
    name: string | undefined,
  ): Pick<Match, 'trigger'> | undefined {
    const trigger = name === undefined ? undefined : this.#lookup.trigger(name);
    if (trigger?.type !== adapter.type || !isOfAccount(adapter, trigger, inbound)) return undefined;
    return { trigger };
  }

  /** Triggers whose filters let it pass, whatever they do with it. */
  letting(adapter: Adapter, inbound: InboundEvent): readonly Trigger[] {
    return this.#known(adapter, inbound).filter(
      (trigger) =>
        isOfAccount(adapter, trigger, inbound) &&
        (adapter.takes?.(trigger, inbound) ?? true) === true &&
        scoreOf(this.#filtersOf(adapter, trigger), inbound) !== undefined,
    );
  }

  /** Of triggers that have nothing to say to who comes none is asked: another one may have. */
  #greeter(adapter: Adapter, inbound: InboundEvent, taking: readonly Trigger[]): Match | Untaken {
    const greeting = taking.filter((trigger) => welcomeOf(trigger) !== undefined);
    if (greeting.length === 0) return untaken('no trigger has a welcome');
    // Nobody has written anything.
    const arrival = { ...inbound, names: [], text: undefined, isChoice: true, needsNoCommand: true };
    return this.#best(adapter, greeting, arrival);
  }

  #best(adapter: Adapter, triggers: readonly Trigger[], event: Matchable): Match | Untaken {
    const match = matched(triggers, event, (trigger) => this.#filtersOf(adapter, trigger));
    if (typeof match !== 'string') return match;
    return match === FILTERED ? { note: match, notice: 'refused' } : untaken(match);
  }

  /**
   * What is to be asked of the platform before it can be matched, and the trigger in whose name that is; undefined for most events.
   */
  completing(
    adapter: Adapter,
    inbound: InboundEvent,
  ): { readonly trigger: Trigger; readonly event: Promise<InboundEvent> } | undefined {
    if (adapter.complete === undefined) return undefined;
    const own = this.#known(adapter, inbound).filter(
      (trigger) => isOfAccount(adapter, trigger, inbound) && this.#maySay(adapter, trigger, inbound),
    );
    if (own.length === 0) return undefined;
    const event = adapter.complete(inbound, own);
    const [trigger] = own;
    return event === undefined || trigger === undefined ? undefined : { trigger, event };
  }

  /** Whether it may take the event, if its filter of channels lets it pass. */
  #maySay(adapter: Adapter, trigger: Trigger, inbound: InboundEvent): boolean {
    const filters = this.#filtersOf(adapter, trigger);
    if (inbound.isArrival === true) return welcomeOf(trigger) !== undefined;
    const needsNoCommand = adapter.hasBuiltIns === true;
    const open = filters && { ...filters, channels: NO_CHANNELS };
    return typeof matched([trigger], { ...inbound, needsNoCommand }, () => open) !== 'string';
  }

  /** The trigger in whose name is said that no trigger takes it. Undefined where nothing can be said. */
  spokesman(adapter: Adapter, inbound: InboundEvent): Trigger | undefined {
    const known = this.#known(adapter, inbound);
    const others = inbound.account === undefined ? [] : this.#lookup.triggers();
    return [...known, ...others].find(
      (trigger) => trigger.type === adapter.type && isOfAccount(adapter, trigger, inbound),
    );
  }

  #known(adapter: Adapter, { triggers }: InboundEvent): readonly Trigger[] {
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

const untaken = (note: string): Untaken => ({ note, notice: 'untaken' });

/** A reload may have given the trigger of that name to another account: what it would answer there nobody has asked. */
function isOfAccount(adapter: Adapter, trigger: Trigger, { account }: InboundEvent): boolean {
  return account === undefined || adapter.account?.(trigger) === account;
}
