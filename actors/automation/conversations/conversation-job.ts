// What an agent is asked about an event of a conversation: the words of the person or of the event, the parameters of a command,
// the history, and where all of it comes from.

import { KEPT_CHARACTERS, KEPT_MESSAGES } from '../../../config/resources/agents/kept-history.ts';
import type { Target } from '../../../config/resources/triggers/target.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { newest } from '../../../machines/agent-run/messages.ts';
import { type CommandParameters, commandParameters } from '../../../machines/command-parameters.ts';
import type { Match } from '../../../machines/matching.ts';
import type { AgentReply, HistoryMessage, Job } from '../../agents/handlers/handler.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import type { StoredEvent } from '../../store/event.ts';

const CUT = ' […]';
/** Summary of an event without text. */
const MAX_WORDLESS = 500;

/** Returns the messages in a snapshot, or an empty list for older formats. Bounded: each turn reads and writes all. */
export function historyOf(snapshot: string | undefined): readonly HistoryMessage[] {
  if (snapshot === undefined) return [];
  try {
    const { history } = JSON.parse(snapshot) as { history?: unknown };
    return Array.isArray(history) ? history.filter(isMessage) : [];
  } catch {
    return [];
  }
}

/** Returns the history after an answered event; undefined keeps the history, because an unanswered event is no conversation. */
export function snapshotAfter(
  inbound: InboundEvent,
  { history, input }: Job,
  { text }: AgentReply,
): string | undefined {
  if (text === '') return undefined;
  const question = inbound.text ?? input.slice(0, MAX_WORDLESS);
  const all: HistoryMessage[] = [
    ...history,
    { role: 'user', text: shortened(question) },
    { role: 'assistant', text: shortened(text) },
  ];
  return JSON.stringify({ history: newest(all, { messages: KEPT_MESSAGES, characters: KEPT_CHARACTERS }) });
}

function shortened(text: string): string {
  const most = KEPT_CHARACTERS / 4;
  return text.length <= most ? text : text.slice(0, most - CUT.length) + CUT;
}

function isMessage(value: unknown): value is HistoryMessage {
  const { role, text } = (value ?? {}) as { role?: unknown; text?: unknown };
  return (role === 'user' || role === 'assistant') && typeof text === 'string';
}

/** With which the keys of conversations begin. */
export const CONVERSATION = 'conversation/';

/** The parameters of the command that was found; text is looked through only where something may be in it. */
export function parametersOf(
  { binding, command, rest }: Match,
  { commandRest = rest, parameters }: InboundEvent,
): CommandParameters {
  if (binding === undefined || binding.parameters.length === 0)
    return { isMissing: false, values: parameters };
  return commandParameters(binding.parameters, commandRest, parameters, command);
}

/** Beyond this the text of an event without words says no more to a reader; the payload is there whole. */
const MAX_INPUT = 16_384;

function inWords({ payload, payloadJson }: InboundEvent): string {
  if (payloadJson !== undefined)
    return Buffer.from(payloadJson.subarray(0, 4 * MAX_INPUT))
      .toString('utf8')
      .slice(0, MAX_INPUT);
  try {
    return JSON.stringify(payload)?.slice(0, MAX_INPUT) ?? '';
  } catch {
    // It may be nested more deeply than can be written again; whoever needs it has the payload.
    return '';
  }
}

/** All that was said with the event, or the beginning of what it is where nobody said anything. */
export function wordsOf(inbound: InboundEvent): string {
  const { text, textJson } = inbound;
  if (textJson !== undefined) return JSON.parse(Buffer.from(textJson).toString('utf8')) as string;
  return text ?? inWords(inbound);
}

/** What the agent is asked about the event. */
export function jobOf(
  event: StoredEvent,
  inbound: InboundEvent,
  more: {
    readonly command: string | undefined;
    readonly parameters: Readonly<Record<string, string>>;
    readonly trigger: Trigger;
    readonly target: Target;
    readonly history: Job['history'];
  },
): Job {
  const { trigger, target, command, parameters, history } = more;
  return {
    input: inbound.text ?? inWords(inbound),
    inputJson: inbound.textJson,
    command,
    parameters,
    event: {
      id: event.id,
      type: trigger.type,
      name: inbound.names[0],
      received_at: new Date(event.at).toISOString(),
      context: inbound.context,
      payload: inbound.payload,
      payloadJson: inbound.payloadJson,
    },
    trigger: trigger.name,
    requester: inbound.user,
    agent: target.name,
    conversation: event.key.slice(CONVERSATION.length),
    history,
    idempotencyKey: event.id,
    attempt: event.attempt,
    trace: event.trace,
  };
}
