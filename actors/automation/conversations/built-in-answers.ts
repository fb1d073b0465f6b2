// How built-in commands are answered (handlers/built-in-commands.ts): by a text of the gateway's own, or by asking an agent.
//
// A call is answered in the name of a trigger that takes it. An agent is reached only where a trigger leads to it whose filters
// let the call pass: what is for some people is not for all by another way.

import { agentTarget, type Target } from '../../../config/resources/triggers/target.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { commandParameters } from '../../../machines/command-parameters.ts';
import type { Match } from '../../../machines/matching.ts';
import { askedBy, type BuiltInCommand, conversationKeyOf } from '../../handlers/built-in-commands.ts';
import type { Delivery, DeliveryState } from '../../store/delivery.ts';
import type { Store } from '../../store/store.ts';
import type { EventTriggers } from '../triggers/event-triggers.ts';
import type { Taken } from './replies.ts';

export interface BuiltInHost {
  /** Names of all agents that are loaded. */
  agents(): readonly string[];
  /** Ends an event that is being handled or waits, as ignored, with that note; whoever sent it is told. False for any other. */
  stop(id: string, note: string): Promise<boolean>;
}

export type BuiltInAnswer =
  | { readonly text: string }
  /** An agent is to be asked, in the name of that trigger. */
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
    const { action = '', workflow, agent_id } = taken.inbound.parameters;
    switch (command.name) {
      case 'agent':
        if (action === 'run') return this.#run(taken, command, agent_id);
        if (action === 'status') return { text: await this.#agentStatus(taken) };
        if (action === 'stop') return { text: await this.#stop(taken, agent_id) };
        return { text: unknownAction(command, action) };
      case 'task':
        if (action === 'run') return this.#run(taken, command, undefined);
        if (action === 'status') return { text: await this.#status(taken) };
        return { text: unknownAction(command, action) };
      case 'fleet':
        return { text: 'There are no fleets of agents yet.' };
      default:
        if (workflow === undefined) return { text: missing(command, 'workflow') };
        return { text: `There is no flow ${repeated(workflow)}: flows cannot be run yet.` };
    }
  }

  #run(taken: Taken, command: BuiltInCommand, agent: string | undefined): BuiltInAnswer {
    const input = askedBy(command, taken.inbound.parameters);
    if (input === undefined) return { text: missing(command, command.asks ?? '') };
    const { adapter, trigger: first, inbound } = taken;
    const others = this.#triggers.letting(adapter, inbound).filter(({ name }) => name !== first.name);
    const triggers = [first, ...others];
    const leads = (trigger: Trigger) =>
      agent === undefined
        ? trigger.default_target !== undefined
        : targetsOf(trigger).some(({ kind, name }) => kind === 'agent' && name === agent);
    const trigger = triggers.find(leads);
    const target = agent === undefined ? trigger?.default_target : agentTarget(agent);
    if (trigger === undefined || target === undefined) return { text: noSuch(agent, triggers) };
    const asked = { ...inbound, text: input, textJson: undefined, parameters: {} };
    // As a rule would have it.
    const rule = { contains: [], target };
    const match = { trigger, binding: undefined, rule, command: undefined, rest: input, score: 0 };
    return { taken: { ...taken, trigger, inbound: asked }, match };
  }

  async #agentStatus(taken: Taken): Promise<string> {
    const agents = this.#host.agents();
    const named = agents.length === 0 ? 'There are no agents.' : `Agents: ${agents.join(', ')}.`;
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
      const named = builtIn === undefined ? undefined : inbound.parameters.agent_id;
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

function noSuch(agent: string | undefined, triggers: readonly Trigger[]): string {
  const names = new Set(triggers.flatMap(targetsOf).map(({ name }) => name));
  const who = agent === undefined ? 'No agent takes that here' : `There is no agent ${repeated(agent)} here`;
  return names.size === 0 ? `${who}.` : `${who}. Agents that can be asked: ${[...names].join(', ')}.`;
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
