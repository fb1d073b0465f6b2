// How built-in commands are answered (handlers/built-in-commands.ts): by a text of the gateway's own, or by asking an agent, a
// fleet or a flow.
//
// A call is answered in the name of a trigger that takes it. One of these is reached only where a trigger leads to it whose
// filters let the call pass: what is for some people is not for all by another way.

import type { Flow } from '../../../config/resources/flows/flow.ts';
import { isSameTarget, type Target, type TargetKind } from '../../../config/resources/triggers/target.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { type CommandParameters, commandParameters } from '../../../machines/command-parameters.ts';
import type { Match } from '../../../machines/matching.ts';
import { type BuiltInCommand, conversationKeyOf } from '../../events/built-in-commands.ts';
import type { Delivery, DeliveryState } from '../../store/delivery.ts';
import type { Store } from '../../store/store.ts';
import type { EventTriggers } from '../triggers/event-triggers.ts';
import type { Answering } from './handlers.ts';
import type { Taken } from './replies.ts';

export interface BuiltInHost {
  /** All who answer. */
  loaded(): Answering;
  /** Ends an event that is being handled or waits, as ignored, with that note; whoever sent it is told. False for any other. */
  stop(id: string, note: string): Promise<boolean>;
}

export type BuiltInAnswer =
  | { readonly text: string }
  /** Somebody is to be asked, in the name of that trigger. */
  | { readonly taken: Taken; readonly match: Match };

const AT_WORK: readonly DeliveryState[] = ['running', 'retrying'];
const WAITING: readonly DeliveryState[] = ['queued', 'held'];
/** Of one conversation. */
const MAX_LOOKED_AT = 1_000;
/** Of what somebody has written, where it is repeated. */
const MAX_REPEATED = 100;

const STOPPED = 'stopped by a command in its conversation';

export class BuiltInAnswers {
  readonly #triggers: EventTriggers;
  readonly #records: Pick<Store, 'delivery' | 'deliveries'>;
  readonly #host: BuiltInHost;

  constructor(triggers: EventTriggers, records: Pick<Store, 'delivery' | 'deliveries'>, host: BuiltInHost) {
    this.#triggers = triggers;
    this.#records = records;
    this.#host = host;
  }

  /** Rejects as the store does. */
  async answer(taken: Taken, command: BuiltInCommand): Promise<BuiltInAnswer> {
    const { action = '', workflow, agent_id, fleet } = taken.inbound.parameters;
    switch (command.name) {
      case 'agent':
        if (action === 'run') return this.#run(taken, command, 'agent', agent_id);
        if (action === 'status') return { text: await this.#statusOf(taken, 'agents') };
        if (action === 'stop') return { text: await this.#stop(taken, agent_id) };
        return { text: unknownAction(command, action) };
      case 'task':
        if (action === 'run') return this.#run(taken, command, 'agent', undefined);
        if (action === 'status') return { text: await this.#status(taken) };
        return { text: unknownAction(command, action) };
      case 'fleet':
        if (action === 'run') return this.#run(taken, command, 'fleet', fleet);
        if (action === 'status' || action === '') return { text: await this.#statusOf(taken, 'fleets') };
        return { text: unknownAction(command, action) };
      default:
        if (workflow === undefined) return { text: await this.#statusOf(taken, 'flows') };
        if (action === 'show') return { text: shownFlow(this.#flow(workflow), workflow) };
        return this.#run(taken, command, 'flow', workflow);
    }
  }

  #run(taken: Taken, command: BuiltInCommand, kind: TargetKind, name: string | undefined): BuiltInAnswer {
    const input = command.asks(taken.inbound.parameters);
    if (input === undefined)
      return { text: missing(command, command.name === 'task' ? 'description' : 'input') };
    const { adapter, trigger: first, inbound } = taken;
    const others = this.#triggers.letting(adapter, inbound).filter(({ name }) => name !== first.name);
    const triggers = [first, ...others];
    const leads = (trigger: Trigger) =>
      name === undefined
        ? kind === 'agent' && trigger.default_target !== undefined
        : targetsOf(trigger).some((target) => isSameTarget(target, { kind, name }));
    const trigger = triggers.find(leads);
    const target = name === undefined ? trigger?.default_target : { kind, name };
    if (trigger === undefined || target === undefined) return { text: noSuch(kind, name, triggers) };
    const given = this.#parametersFor(target, input);
    if (given.isMissing) return { text: given.help };
    const asked = { ...inbound, text: input, textJson: undefined, parameters: given.values };
    // As a rule would have it.
    const rule = { contains: [], target };
    const match = { trigger, binding: undefined, rule, command: undefined, rest: input, score: 0 };
    return { taken: { ...taken, trigger, inbound: asked }, match };
  }

  #flow(name: string): Flow | undefined {
    return this.#host.loaded().flows.find((flow) => flow.name === name);
  }

  /** Of a flow, as they are written behind its name. */
  #parametersFor({ kind, name }: Target, text: string): CommandParameters {
    const flow = kind === 'flow' ? this.#flow(name) : undefined;
    if (flow === undefined) return { isMissing: false, values: {} };
    return commandParameters(flow.parameters, text, {}, `/flow workflow:${name}`);
  }

  async #statusOf(taken: Taken, kind: keyof Answering): Promise<string> {
    const names = this.#host.loaded()[kind].map(({ name }) => name);
    const word = `${kind[0]?.toUpperCase()}${kind.slice(1)}`;
    const named = names.length === 0 ? `There are no ${kind}.` : `${word}: ${names.join(', ')}.`;
    return `${named}\n${await this.#status(taken)}`;
  }

  async #status(taken: Taken): Promise<string> {
    const { atWork, waiting } = await this.#look(taken);
    const oldest = Math.min(...atWork.map(({ startedAt, receivedAt }) => startedAt ?? receivedAt));
    const work =
      atWork.length === 0
        ? 'Nothing is at work here.'
        : `At work here: ${atWork.length}, for ${duration(Date.now() - oldest)}.`;
    return waiting.length === 0 ? work : `${work} Waiting: ${waiting.length}.`;
  }

  /** What is at work for triggers that let the caller pass. */
  async #stop(taken: Taken, agent: string | undefined): Promise<string> {
    const { atWork, waiting } = await this.#look(taken);
    const names = new Set(this.#triggers.letting(taken.adapter, taken.inbound).map(({ name }) => name));
    let stopped = 0;
    for (const { id } of atWork) {
      const by = await this.#takenBy(taken, id);
      if (by === undefined || !names.has(by.trigger) || (agent ?? by.agent) !== by.agent) continue;
      if (await this.#host.stop(id, STOPPED)) stopped += 1;
    }
    const nothing =
      agent === undefined ? 'Nothing is at work here.' : `Nothing is at work here by ${repeated(agent)}.`;
    const text = stopped === 0 ? nothing : `Stopped: ${stopped}.`;
    return waiting.length === 0 ? text : `${text} Waiting: ${waiting.length}.`;
  }

  /** What is unfinished in the conversation, but for the call itself. */
  async #look({ event }: Taken) {
    const key = conversationKeyOf(event.key);
    const find = (states: readonly DeliveryState[]) =>
      this.#records.deliveries({ keyPrefix: key, states, limit: MAX_LOOKED_AT });
    const [unfinished, parked] = await Promise.all([find([...AT_WORK, ...WAITING]), find(['waiting'])]);
    const isOfIt = (each: Delivery) => each.key === key && each.id !== event.id;
    const isAtWork = ({ state }: Delivery) => AT_WORK.includes(state);
    return {
      atWork: [...unfinished.filter(isAtWork), ...parked].filter(isOfIt),
      waiting: unfinished.filter((each) => !isAtWork(each)).filter(isOfIt),
    };
  }

  /** The trigger that an event of the conversation is for, and who answers it. */
  async #takenBy({ adapter }: Taken, id: string) {
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
      // One that cannot be read is not known to be anybody's.
      return undefined;
    }
  }
}

/** Who is asked by a command that has to be approved is not asked by this way without. */
function targetsOf({ commands, rules = [], default_target }: Trigger): readonly Target[] {
  const open = commands.filter(({ approval }) => approval === undefined);
  const targets = [...open, ...rules].map(({ target }) => target);
  return default_target === undefined ? targets : [...targets, default_target];
}

function noSuch(kind: TargetKind, name: string | undefined, triggers: readonly Trigger[]): string {
  const ofKind = triggers.flatMap(targetsOf).filter((target) => target.kind === kind);
  const names = new Set(ofKind.map((target) => target.name));
  const who =
    name === undefined ? `No ${kind} takes that here` : `There is no ${kind} ${repeated(name)} here`;
  const words = `${kind[0]?.toUpperCase()}${kind.slice(1)}s`;
  return names.size === 0 ? `${who}.` : `${who}. ${words} that can be asked: ${[...names].join(', ')}.`;
}

function shownFlow(flow: Flow | undefined, name: string): string {
  if (flow === undefined) return `There is no flow ${repeated(name)}.`;
  const { description, parameters, nodes } = flow;
  const about = description === undefined ? '' : `: ${description}`;
  const taken = parameters.map((each) => `${each.name}${each.required ? ' (required)' : ''}`);
  const takes = taken.length === 0 ? 'It takes no parameters.' : `It takes ${taken.join(', ')}.`;
  return `${name}${about}\n${takes}\nSteps: ${nodes.map(({ id }) => id).join(', ')}.`;
}

function unknownAction(command: BuiltInCommand, action: string): string {
  if (action === '') return missing(command, 'action');
  const choices = command.options.find(({ name }) => name === 'action')?.choices ?? [];
  return `/${command.name} does not know ${repeated(action)}, but ${choices.join(', ')}.`;
}

function missing({ name, options }: BuiltInCommand, option: string): string {
  const parameters = options.map((each) => ({
    ...each,
    required: each.required || each.name === option,
    default: undefined,
  }));
  const others = Object.fromEntries(
    options.filter((each) => each.name !== option).map((each) => [each.name, '']),
  );
  const given = commandParameters(parameters, '', others, `/${name}`);
  return given.isMissing ? given.help : '';
}

const repeated = (text: string) =>
  JSON.stringify(text.length > MAX_REPEATED ? `${text.slice(0, MAX_REPEATED)}…` : text);

function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}
