// Creates TriggerState (trigger-shapes.ts) for the API and for the inspector. The inspector is also loaded in
// gateways without triggers, so this file imports no trigger configuration.

import type { TriggerStatus } from '../../../actors/automation/operator/operator.ts';
import type { CircuitStatus } from '../../../actors/events/outbox/circuits.ts';
import type { ConnectionStatus } from '../../../actors/platforms/connections/shared-connection.ts';
import { isoTime } from './iso-time.ts';
import { fullView, type RecordView } from './record-view.ts';
import type { CircuitRecord, ConnectionRecord, TriggerState } from './trigger-shapes.ts';

/** Returns the trigger's state. */
export function triggerState(status: TriggerStatus, view: RecordView = fullView): TriggerState {
  const { trigger, state, isPaused, blockedBy, counts, lastError, retryAt, connection, circuit } = status;
  return {
    name: trigger.name,
    type: trigger.type,
    state,
    paused: isPaused,
    blocked_by: blockedBy ?? null,
    handled: counts.handled,
    failed: counts.failed,
    last_event_at: isoTime(counts.lastAt),
    last_error: view.note(lastError),
    next_retry_at: isoTime(retryAt),
    connection: connection === undefined ? null : connectionRecord(connection, view),
    circuit: circuit === undefined ? null : circuitRecord(circuit, view),
  };
}

function connectionRecord(
  { platform, account, state, since, connectedNode, lastError, retryAt }: ConnectionStatus,
  view: RecordView,
): ConnectionRecord {
  return {
    platform,
    account,
    state,
    since: isoTime(since),
    held_by: connectedNode ?? null,
    last_error: view.note(lastError),
    next_retry_at: isoTime(retryAt),
  };
}

function circuitRecord({ state, since, lastError, retryAt }: CircuitStatus, view: RecordView): CircuitRecord {
  return {
    state,
    since: isoTime(since),
    last_error: view.note(lastError),
    next_retry_at: isoTime(retryAt),
  };
}
