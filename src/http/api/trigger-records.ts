// Creates the records of trigger-shapes.ts. Configuration values are omitted, because they may be secrets.

import type { RunResult, TriggerStatus } from '../../../actors/automation/operator/operator.ts';
import type { TriggerDetails as DetailedTrigger } from '../../../actors/automation/operator/trigger-details.ts';
import type { TriggerCounts } from '../../../actors/automation/triggers/counters.ts';
import type { OutboundLimits } from '../../../actors/events/outbox/limits.ts';
import type { Delivery } from '../../../actors/store/delivery.ts';
import type { Binding } from '../../../config/resources/triggers/binding.ts';
import { triggerTypes } from '../../../config/resources/triggers/trigger-types.ts';
import { isoTime } from './iso-time.ts';
import { fullView, type RecordView } from './record-view.ts';
import type {
  CommandRecord,
  LimitsRecord,
  RunResponse,
  TriggerDetailsRecord,
  TriggerRecord,
} from './trigger-shapes.ts';
import { triggerState } from './trigger-state.ts';

/** Returns an entry for the list of triggers. */
export function triggerRecord(status: TriggerStatus, view: RecordView = fullView): TriggerRecord {
  const { trigger } = status;
  const { name, type, state, paused, blocked_by, ...changing } = triggerState(status, view);
  return {
    ...{ name, type, maturity: triggerTypes[trigger.type].maturity ?? null, state, paused, blocked_by },
    commands: view.json(trigger.commands.map(commandRecord)),
    default_agent: trigger.default_target?.name ?? null,
    requires_confirmation: status.requiresConfirmation,
    retry: trigger.retry,
    timeout_seconds: status.timeoutSeconds,
    on_failure: trigger.on_failure,
    mentions: trigger.mentions,
    labels: view.json(trigger.labels),
    ...changing,
  };
}

/** Returns the record for `/triggers/:name`. */
export function triggerDetails(
  details: TriggerStatus & DetailedTrigger,
  view: RecordView = fullView,
): TriggerDetailsRecord {
  const { sourceText, menu, limits, remarks, records } = details;
  return {
    ...triggerRecord(details, view),
    way_in: view.json(sourceText),
    welcome: view.json(details.trigger.welcome ?? null),
    menu: view.json(menu ?? null),
    limits: limits === undefined ? null : limitsRecord(limits),
    remarks: remarks.map(({ at, text }) => ({ at: isoTime(at), text: view.note(text) })),
    last_event: records?.event === undefined ? null : lastEvent(records.event),
    refused_requests: refusedRecord(details.counts, view),
    duplicate_events: duplicatesRecord(details.counts),
    last_refusal: records?.refused === undefined ? null : lastRefusal(records.refused, view),
  };
}

/**
 * Returns the limits for sent messages. A rate for less than a second is converted to a rate per second.
 * `held` lists the limits that currently hold messages back.
 */
function limitsRecord({ text, buttons, rates, held }: OutboundLimits): LimitsRecord {
  return {
    text,
    buttons: buttons ?? null,
    rates: rates.map(({ of, most, perMs, atOnce = most }) => {
      const isBelowSecond = perMs < 1_000;
      return {
        of,
        most: isBelowSecond ? (most * 1_000) / perMs : most,
        per_seconds: isBelowSecond ? 1 : perMs / 1_000,
        at_once: atOnce,
      };
    }),
    held: held.map(({ of, forMs }) => ({ of, until: isoTime(Date.now() + forMs) })),
  };
}

function lastEvent({ id, state, receivedAt }: Delivery): TriggerDetailsRecord['last_event'] {
  return { id, state, received_at: isoTime(receivedAt) };
}

/** Returns the requests that the gateway refused. */
function refusedRecord(
  { refused }: TriggerCounts,
  view: RecordView,
): TriggerDetailsRecord['refused_requests'] {
  if (refused === undefined) return null;
  const { count, at, reason, text } = refused;
  return { count, last_at: isoTime(at), reason, text: view.note(text) };
}

function duplicatesRecord({ duplicates }: TriggerCounts): TriggerDetailsRecord['duplicate_events'] {
  if (duplicates === undefined) return null;
  const { count, at, id } = duplicates;
  return { count, last_at: isoTime(at), last_id: id };
}

/**
 * Returns the last message that the platform refused. For a retried message, it is the last failed attempt.
 */
function lastRefusal(
  { id, state, endedAt, note, failures }: Delivery,
  view: RecordView,
): TriggerDetailsRecord['last_refusal'] {
  const last = failures.at(-1);
  // The delivery's own note may be about a later delay, which is not a refusal.
  if (state !== 'dead' && last !== undefined)
    return { id, state, at: isoTime(last.at), note: view.note(last.note) };
  return { id, state, at: isoTime(endedAt ?? last?.at), note: view.note(note ?? last?.note) };
}

/** Returns a command like in the file: the target is the value of `agent`, `fleet` or `flow`. */
export function commandRecord({ command, target, description, parameters }: Binding): CommandRecord {
  return { command, [target.kind]: target.name, description, parameters };
}

/** Returns the JSON of POST /triggers/:name/run. */
export function runResponse({ id, state, answer, note, waitingFor, until }: RunResult): RunResponse {
  return { id, state, answer, note, waiting_for: waitingFor ?? null, until: isoTime(until) };
}
