// Answers built-in commands (events/built-in-commands.ts) with a text, or by running an agent, fleet or flow.
// A command reaches a target only through a trigger that accepts the event and refers to the target, so it
// cannot bypass access restrictions.

import type { Flow } from '../../../config/resources/flows/flow.ts';
import { isSameTarget, type Target, type TargetKind } from '../../../config/resources/triggers/target.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { type CommandParameters, commandParameters } from '../../../machines/command-parameters.ts';
import type { Match } from '../../../machines/matching.ts';
import type { BuiltInCommand } from '../../events/built-in-commands.ts';
import type { Delivery, DeliveryState } from '../../store/delivery.ts';
import { conversationKeyOf } from '../../store/key-kinds.ts';
import type { Store } from '../../store/store.ts';
import type { EventTriggers } from '../triggers/event-triggers.ts';
import type { LoadedTargets } from './handlers.ts';
import type { RoutedEvent } from './messages.ts';

export interface BuiltInHost {
  /** Loaded targets. */
  loaded(): LoadedTargets;
  /**
   * Stops a running or waiting event, which becomes `ignored` with the note, and notifies its sender. Returns
   * false for other events.
   */
  stop(id: string, note: string): Promise<boolean>;
}

export type BuiltInAnswer =
  | { readonly text: string }
  /** The event, with the trigger and the match by which a target handles it. */
  | { readonly routedEvent: RoutedEvent; readonly match: Match };

const AT_WORK: readonly DeliveryState[] = ['running', 'retrying'];
const WAITING: readonly DeliveryState[] = ['queued', 'held'];
/** Limit of unfinished events that are read per conversation. */
const MAX_EVENTS = 1_000;
/** Limit of quoted user text. */
const MAX_QUOTED = 100;

const STOP_NOTE = 'stopped by a command in its conversation';

export class BuiltInAnswers {
  readonly #triggers: EventTriggers;
  readonly #records: Pick<Store, 'delivery' | 'deliveries'>;
  readonly #host: BuiltInHost;

  constructor(triggers: EventTriggers, records: Pick<Store, 'delivery' | 'deliveries'>, host: BuiltInHost) {
    this.#triggers = triggers;
    this.#records = records;
    this.#host = host;
  }

  /** Rejects with the store's error. */
  async answer(routedEvent: RoutedEvent, command: BuiltInCommand): Promise<BuiltInAnswer> {
    const { action = '', workflow, agent_id, fleet } = routedEvent.inbound.parameters;
    switch (command.name) {
      case 'agent':
        if (action === 'run') return this.#run(routedEvent, command, 'agent', agent_id);
        if (action === 'status') return { text: await this.#statusOf(routedEvent, 'agents') };
        if (action === 'stop') return { text: await this.#stop(routedEvent, agent_id) };
        return { text: unknownActionText(command, action) };
      case 'task':
        if (action === 'run') return this.#run(routedEvent, command, 'agent', undefined);
        if (action === 'status') return { text: await this.#status(routedEvent) };
        return { text: unknownActionText(command, action) };
      case 'fleet':
        if (action === 'run') return this.#run(routedEvent, command, 'fleet', fleet);
        if (action === 'status' || action === '')
          return { text: await this.#statusOf(routedEvent, 'fleets') };
        return { text: unknownActionText(command, action) };
      default:
        if (workflow === undefined) return { text: await this.#statusOf(routedEvent, 'flows') };
        if (action === 'show') return { text: flowText(this.#flow(workflow), workflow) };
        return this.#run(routedEvent, command, 'flow', workflow);
    }
  }

  #run(
    routedEvent: RoutedEvent,
    command: BuiltInCommand,
    kind: TargetKind,
    name: string | undefined,
  ): BuiltInAnswer {
    const input = command.requestOf(routedEvent.inbound.parameters);
    if (input === undefined)
      return { text: missingText(command, command.name === 'task' ? 'description' : 'input') };
    const { adapter, trigger: first, inbound } = routedEvent;
    const others = this.#triggers
      .triggersAccepting(adapter, inbound)
      .filter(({ name }) => name !== first.name);
    const triggers = [first, ...others];
    const hasTarget = (trigger: Trigger) =>
      name === undefined
        ? kind === 'agent' && trigger.default_target !== undefined
        : targetsOf(trigger).some((target) => isSameTarget(target, { kind, name }));
    const trigger = triggers.find(hasTarget);
    const target = name === undefined ? trigger?.default_target : { kind, name };
    if (trigger === undefined || target === undefined)
      return { text: unknownTargetText(kind, name, triggers) };
    const parsed = this.#parametersFor(target, input);
    if (parsed.isMissing) return { text: parsed.help };
    const callInbound = { ...inbound, text: input, textJson: undefined, parameters: parsed.values };
    // Equivalent to a rule of the trigger.
    const rule = { contains: [], target };
    const match = { trigger, binding: undefined, rule, command: undefined, rest: input, score: 0 };
    return { routedEvent: { ...routedEvent, trigger, inbound: callInbound }, match };
  }

  #flow(name: string): Flow | undefined {
    return this.#host.loaded().flows.find((flow) => flow.name === name);
  }

  /** Parses flow parameters from the text after the flow name. */
  #parametersFor({ kind, name }: Target, text: string): CommandParameters {
    const flow = kind === 'flow' ? this.#flow(name) : undefined;
    if (flow === undefined) return { isMissing: false, values: {} };
    return commandParameters(flow.parameters, text, {}, `/flow workflow:${name}`);
  }

  async #statusOf(routedEvent: RoutedEvent, kind: keyof LoadedTargets): Promise<string> {
    const names = this.#host.loaded()[kind].map(({ name }) => name);
    const title = `${kind[0]?.toUpperCase()}${kind.slice(1)}`;
    const named = names.length === 0 ? `There are no ${kind}.` : `${title}: ${names.join(', ')}.`;
    return `${named}\n${await this.#status(routedEvent)}`;
  }

  async #status(routedEvent: RoutedEvent): Promise<string> {
    const { atWork, waiting } = await this.#unfinished(routedEvent);
    const oldest = Math.min(...atWork.map(({ startedAt, receivedAt }) => startedAt ?? receivedAt));
    const work =
      atWork.length === 0
        ? 'Nothing is running here.'
        : `Running here: ${atWork.length}, for ${duration(Date.now() - oldest)}.`;
    return waiting.length === 0 ? work : `${work} Waiting: ${waiting.length}.`;
  }

  /** Stops running events of the conversation whose triggers accept the caller. */
  async #stop(routedEvent: RoutedEvent, agent: string | undefined): Promise<string> {
    const { atWork, waiting } = await this.#unfinished(routedEvent);
    const names = new Set(
      this.#triggers.triggersAccepting(routedEvent.adapter, routedEvent.inbound).map(({ name }) => name),
    );
    let stopCount = 0;
    for (const { id } of atWork) {
      const owner = await this.#ownerOf(routedEvent, id);
      if (owner === undefined || !names.has(owner.trigger)) continue;
      if ((agent ?? owner.agent) !== owner.agent) continue;
      if (await this.#host.stop(id, STOP_NOTE)) stopCount += 1;
    }
    const nothing =
      agent === undefined ? 'Nothing is running here.' : `Nothing of ${quote(agent)} is running here.`;
    const text = stopCount === 0 ? nothing : `Stopped: ${stopCount}.`;
    return waiting.length === 0 ? text : `${text} Waiting: ${waiting.length}.`;
  }

  /** Returns the unfinished events of the conversation, without the command itself. */
  async #unfinished({ event }: RoutedEvent) {
    const key = conversationKeyOf(event.key);
    const find = (states: readonly DeliveryState[]) =>
      this.#records.deliveries({ keyPrefix: key, states, limit: MAX_EVENTS });
    const [unfinished, parked] = await Promise.all([find([...AT_WORK, ...WAITING]), find(['waiting'])]);
    const isInConversation = (each: Delivery) => each.key === key && each.id !== event.id;
    const isAtWork = ({ state }: Delivery) => AT_WORK.includes(state);
    return {
      atWork: [...unfinished.filter(isAtWork), ...parked].filter(isInConversation),
      waiting: unfinished.filter((each) => !isAtWork(each)).filter(isInConversation),
    };
  }

  /** Returns the names of the trigger and the target that handle an event of the conversation. */
  async #ownerOf({ adapter }: RoutedEvent, id: string) {
    const record = await this.#records.delivery(id);
    if (record === undefined) return undefined;
    const { receivedAt: at, attempts: attempt } = record;
    try {
      const inbound = adapter.read({ ...record, at, attempt, state: undefined });
      const match = this.#triggers.match(adapter, inbound);
      if (!('trigger' in match)) return undefined;
      const { binding, rule, trigger, builtIn } = match;
      const { agent_id, fleet, workflow } = inbound.parameters;
      const named = builtIn === undefined ? undefined : (agent_id ?? fleet ?? workflow);
      const agent = named ?? (binding?.target ?? rule?.target ?? trigger.default_target)?.name;
      return { trigger: trigger.name, agent };
    } catch {
      // An unreadable event belongs to no known trigger.
      return undefined;
    }
  }
}

/** Returns a trigger's targets, except targets of commands that need an approval. */
function targetsOf({ commands, rules = [], default_target }: Trigger): readonly Target[] {
  const unrestricted = commands.filter(({ approval }) => approval === undefined);
  const targets = [...unrestricted, ...rules].map(({ target }) => target);
  return default_target === undefined ? targets : [...targets, default_target];
}

function unknownTargetText(kind: TargetKind, name: string | undefined, triggers: readonly Trigger[]): string {
  const ofKind = triggers.flatMap(targetsOf).filter((target) => target.kind === kind);
  const names = new Set(ofKind.map((target) => target.name));
  const subject =
    name === undefined ? `No ${kind} accepts that here` : `There is no ${kind} ${quote(name)} here`;
  const kindTitle = `${kind[0]?.toUpperCase()}${kind.slice(1)}s`;
  return names.size === 0
    ? `${subject}.`
    : `${subject}. Available ${kindTitle.toLowerCase()}: ${[...names].join(', ')}.`;
}

function flowText(flow: Flow | undefined, name: string): string {
  if (flow === undefined) return `There is no flow ${quote(name)}.`;
  const { description, parameters, nodes } = flow;
  const about = description === undefined ? '' : `: ${description}`;
  const names = parameters.map((each) => `${each.name}${each.required ? ' (required)' : ''}`);
  const parameterText = names.length === 0 ? 'No parameters.' : `Parameters: ${names.join(', ')}.`;
  return `${name}${about}\n${parameterText}\nSteps: ${nodes.map(({ id }) => id).join(', ')}.`;
}

function unknownActionText(command: BuiltInCommand, action: string): string {
  if (action === '') return missingText(command, 'action');
  const choices = command.options.find(({ name }) => name === 'action')?.choices ?? [];
  return `/${command.name} has no action ${quote(action)}; use ${choices.join(', ')}.`;
}

function missingText({ name, options }: BuiltInCommand, option: string): string {
  const parameters = options.map((each) => ({
    ...each,
    required: each.required || each.name === option,
    default: undefined,
  }));
  const others = Object.fromEntries(
    options.filter((each) => each.name !== option).map((each) => [each.name, '']),
  );
  const parsed = commandParameters(parameters, '', others, `/${name}`);
  return parsed.isMissing ? parsed.help : '';
}

const quote = (text: string) =>
  JSON.stringify(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text);

function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}
