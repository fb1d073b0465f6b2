// The JSON of GET /triggers, /agents and /deliveries. Times are ISO 8601, durations seconds; never a secret of a
// trigger's configuration, and the body of a delivery only where one is asked for by its id.

import type { RunResult, TriggerStatus } from '../../../actors/automation/operator/operator.ts';
import type { TriggerDetails } from '../../../actors/automation/operator/trigger-details.ts';
import type { TriggerCounts } from '../../../actors/automation/triggers/trigger-counters.ts';
import type { CircuitStatus } from '../../../actors/events/outbox/circuits.ts';
import type { OutboundLimits } from '../../../actors/events/outbox/limits.ts';
import type { ConnectionStatus } from '../../../actors/platforms/connections/shared-connection.ts';
import type { Delivery } from '../../../actors/store/delivery.ts';
import type { Agent } from '../../../config/resources/agents/agent.ts';
import type { Binding } from '../../../config/resources/triggers/binding.ts';
import { triggerTypes } from '../../../config/resources/triggers/trigger-types.ts';

const iso = (epochMs: number | undefined) => (epochMs === undefined ? null : new Date(epochMs).toISOString());

/** One line of GET /triggers. */
export function triggerRecord(status: TriggerStatus) {
  const { trigger, state, isPaused, counts, lastError, retryAt, connection, circuit } = status;
  return {
    name: trigger.name,
    type: trigger.type,
    maturity: triggerTypes[trigger.type].maturity ?? null,
    state,
    paused: isPaused,
    commands: trigger.commands.map(commandRecord),
    default_agent: trigger.default_target?.name ?? null,
    requires_confirmation: status.requiresConfirmation,
    retry: trigger.retry,
    timeout_seconds: status.timeoutSeconds,
    on_failure: trigger.on_failure,
    mentions: trigger.mentions,
    labels: trigger.labels,
    handled: counts.handled,
    failed: counts.failed,
    last_event_at: iso(counts.lastAt),
    last_error: lastError ?? null,
    next_retry_at: iso(retryAt),
    connection: connection === undefined ? null : connectionRecord(connection),
    circuit: circuit === undefined ? null : circuitRecord(circuit),
  };
}

/** GET /triggers/:name. */
export function triggerDetails(details: TriggerStatus & TriggerDetails) {
  const { wayIn, menu, limits, remarks, records } = details;
  return {
    ...triggerRecord(details),
    way_in: wayIn,
    welcome: details.trigger.welcome ?? null,
    menu: menu ?? null,
    limits: limits === undefined ? null : limitsRecord(limits),
    remarks: remarks.map(({ at, text }) => ({ at: iso(at), text })),
    last_event: records?.event === undefined ? null : lastEvent(records.event),
    refused_requests: refusedRecord(details.counts),
    last_refusal: records?.refused === undefined ? null : lastRefusal(records.refused),
  };
}

/** Rates of more than one a second are told per second. */
function limitsRecord({ text, buttons, rates, held }: OutboundLimits) {
  return {
    text,
    buttons: buttons ?? null,
    rates: rates.map(({ of, most, perMs, atOnce = most }) => {
      const isQuick = perMs < 1_000;
      return {
        of,
        most: isQuick ? (most * 1_000) / perMs : most,
        per_seconds: isQuick ? 1 : perMs / 1_000,
        at_once: atOnce,
      };
    }),
    held: held.map(({ of, forMs }) => ({ of, until: iso(Date.now() + forMs) })),
  };
}

function lastEvent({ id, state, receivedAt }: Delivery) {
  return { id, state, received_at: iso(receivedAt) };
}

function refusedRecord({ refused }: TriggerCounts) {
  if (refused === undefined) return null;
  const { count, at, reason, text } = refused;
  return { count, last_at: iso(at), reason, text };
}

/** Of one that is tried again it is that of the last attempt. */
function lastRefusal({ id, state, endedAt, note, failures }: Delivery) {
  const last = failures.at(-1);
  // What it has been put off for since is no refusal.
  if (state !== 'dead' && last !== undefined) return { id, state, at: iso(last.at), note: last.note };
  return { id, state, at: iso(endedAt ?? last?.at), note: note ?? last?.note ?? null };
}

function connectionRecord({ platform, account, state, since, heldBy, lastError, retryAt }: ConnectionStatus) {
  return {
    platform,
    account,
    state,
    since: iso(since),
    held_by: heldBy ?? null,
    last_error: lastError ?? null,
    next_retry_at: iso(retryAt),
  };
}

/** POST /triggers/:name/run. */
export function runRecord({ id, state, answer, note, waitingFor, until }: RunResult) {
  return { id, state, answer, note, waiting_for: waitingFor ?? null, until: iso(until) };
}

function circuitRecord({ state, since, lastError, retryAt }: CircuitStatus) {
  return { state, since: iso(since), last_error: lastError, next_retry_at: iso(retryAt) };
}

/** As it is written in a file: who answers stands under the word for what it is. */
export function commandRecord({ command, target, description, parameters }: Binding) {
  return { command, [target.kind]: target.name, description, parameters };
}

/** One line of GET /agents. */
export function agentRecord(agent: Agent) {
  const { name, description = null, model = null, runtime, tools, mcp_servers } = agent;
  return {
    name,
    description,
    model,
    runtime: runtime.kind,
    tools,
    mcp_servers,
  };
}

/**
 * One line of GET /deliveries. `duration_seconds` is of the last attempt, `total_seconds` from the acceptance to the end. A
 * claim that was no attempt (held, or given back) is no start: it was never run.
 */
export function deliveryRecord(delivery: Delivery) {
  const { receivedAt, endedAt, attempts } = delivery;
  const startedAt = attempts === 0 ? undefined : delivery.startedAt;
  return {
    id: delivery.id,
    seq: delivery.seq,
    kind: delivery.kind,
    state: delivery.state,
    trigger: delivery.trigger ?? null,
    conversation: delivery.key,
    attempts,
    crashes: delivery.crashes,
    deferrals: delivery.deferrals,
    received_at: iso(receivedAt),
    started_at: iso(startedAt),
    ended_at: iso(endedAt),
    next_attempt_at: iso(delivery.retryAt),
    waiting_for: delivery.waitingFor ?? null,
    until: iso(delivery.until),
    duration_seconds: seconds(startedAt, endedAt),
    total_seconds: seconds(receivedAt, endedAt),
    trace: delivery.trace,
    note: delivery.note ?? null,
  };
}

/** GET /deliveries/:id. */
export function deliveryDetails(delivery: Delivery & { readonly meta: string; readonly body: Uint8Array }) {
  return {
    ...deliveryRecord(delivery),
    principal: principalIn(delivery.meta),
    answer: delivery.answer ?? null,
    receipt: delivery.receipt ?? null,
    failures: delivery.failures.map(({ attempt, at, note }) => ({ attempt, at: iso(at), note })),
    body: bodyOf(delivery.body),
  };
}

/** Who sent it, as its source has written that down; null where nobody did. */
function principalIn(meta: string): string | null {
  try {
    const { principal } = JSON.parse(meta) as { readonly principal?: unknown };
    return typeof principal === 'string' ? principal : null;
  } catch {
    return null;
  }
}

/** As text where it is text, else as base64; cut where it is long. */
function bodyOf(bytes: Uint8Array): {
  readonly bytes: number;
  readonly text?: string;
  readonly base64?: string;
} {
  const shown = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, MAX_SHOWN_BYTES));
  const text = shown.toString('utf8');
  const isText = !text.includes('\u0000') && !text.slice(0, -1).includes('\uFFFD');
  return { bytes: bytes.length, ...(isText ? { text } : { base64: shown.toString('base64') }) };
}

const MAX_SHOWN_BYTES = 65_536;

function seconds(from: number | undefined, to: number | undefined): number | null {
  return from === undefined || to === undefined ? null : Math.max(0, to - from) / 1000;
}
