// Builds an agent's job from an event: text, command parameters, history and origin.

import {
  MAX_HISTORY_CHARACTERS,
  MAX_HISTORY_MESSAGES,
} from '../../../config/resources/agents/history-limits.ts';
import type { Target } from '../../../config/resources/triggers/target.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { newest } from '../../../machines/agent-run/messages.ts';
import { type CommandParameters, commandParameters } from '../../../machines/command-parameters.ts';
import type { Match } from '../../../machines/matching.ts';
import type { AgentReply, HistoryMessage, Job } from '../../agents/handlers/handler.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { messageOrigin, storedOrigin } from '../../events/message-origin.ts';
import type { StoredEvent } from '../../store/event.ts';

const CUT = ' […]';
/** Maximum length of an event without text in the history. */
const MAX_SUMMARY = 500;

/**
 * Returns the messages in a snapshot, or an empty list for older formats. The history is bounded, because
 * each turn reads and writes all of it.
 */
export function historyOf(snapshot: string | undefined): readonly HistoryMessage[] {
  if (snapshot === undefined) return [];
  try {
    const { history } = JSON.parse(snapshot) as { history?: unknown };
    return Array.isArray(history) ? history.filter(isMessage) : [];
  } catch {
    return [];
  }
}

/**
 * Returns the snapshot with an answered event in the history; undefined for an empty answer, which leaves the
 * history unchanged.
 */
export function snapshotAfter(
  inbound: InboundEvent,
  { history, input, message }: Job,
  { text }: AgentReply,
): string | undefined {
  if (text === '') return undefined;
  const question = inbound.text ?? input.slice(0, MAX_SUMMARY);
  const all: HistoryMessage[] = [
    ...history,
    { role: 'user', text: shorten(question), ...(message && { message: storedOrigin(message) }) },
    { role: 'assistant', text: shorten(text) },
  ];
  return JSON.stringify({
    history: newest(all, BOUNDS, lengthOf),
  });
}

const BOUNDS = { messages: MAX_HISTORY_MESSAGES, characters: MAX_HISTORY_CHARACTERS };

/** Returns the message length, including its origin. */
const lengthOf = ({ text, message }: HistoryMessage) =>
  text.length + (message === undefined ? 0 : JSON.stringify(message).length);

/** Truncates a message of the history, so that one message uses at most a quarter of it. */
function shorten(text: string): string {
  const most = MAX_HISTORY_CHARACTERS / 4;
  return text.length <= most ? text : text.slice(0, most - CUT.length) + CUT;
}

function isMessage(value: unknown): value is HistoryMessage {
  const { role, text } = (value ?? {}) as { role?: unknown; text?: unknown };
  return (role === 'user' || role === 'assistant') && typeof text === 'string';
}

/** Prefix of conversation keys. */
export const CONVERSATION = 'conversation/';

/** Returns the parameters of the matched command; the text is parsed only if parameters are declared. */
export function parametersOf(
  { binding, command, rest }: Match,
  { commandRest = rest, parameters }: InboundEvent,
): CommandParameters {
  if (binding === undefined || binding.parameters.length === 0)
    return { isMissing: false, values: parameters };
  return commandParameters(binding.parameters, commandRest, parameters, command);
}

/** Maximum payload length as text; the job also contains the complete payload. */
const MAX_INPUT = 16_384;

function payloadText({ payload, payloadJson }: InboundEvent): string {
  if (payloadJson !== undefined)
    return Buffer.from(payloadJson.subarray(0, 4 * MAX_INPUT))
      .toString('utf8')
      .slice(0, MAX_INPUT);
  try {
    return JSON.stringify(payload)?.slice(0, MAX_INPUT) ?? '';
  } catch {
    // A payload with excessive nesting cannot be serialised.
    return '';
  }
}

/** Returns the text of the event (of a large text: from its JSON), or the beginning of the payload. */
export function fullText(inbound: InboundEvent): string {
  const { text, textJson } = inbound;
  if (textJson !== undefined) return JSON.parse(Buffer.from(textJson).toString('utf8')) as string;
  return text ?? payloadText(inbound);
}

/** Returns the event's job. */
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
    input: inbound.text ?? payloadText(inbound),
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
    message: messageOrigin(inbound),
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
