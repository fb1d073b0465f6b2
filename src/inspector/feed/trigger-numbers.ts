// The numbers of triggers, of what is done about their events, and the deliveries that were given up or are parked, as the
// inspector shows them. What came from outside is redacted and cut (A9).

import type { TriggerStatus } from '../../../actors/automation/operator/operator.ts';
import type { Redactor } from '../../../actors/base/errors/redact.ts';
import type { QueueStats } from '../../../actors/events/inbox/work-queue.ts';
import type { CircuitStatus } from '../../../actors/events/outbox/circuits.ts';
import type { ConnectionStatus } from '../../../actors/platforms/connections/shared-connection.ts';
import type { Delivery } from '../../../actors/store/delivery.ts';
import type { AutomationFigures } from '../../http/api/automation-figures.ts';
import type {
  AutomationTotals,
  CircuitNumbers,
  ConnectionNumbers,
  DeadDelivery,
  TriggerNumbers,
  WaitingDelivery,
  WorkNumbers,
} from '../wire/feed-wire.ts';
import { ChangedRows } from './changed-rows.ts';

const MAX_ERROR = 300;
const MAX_ID = 200;

export function triggerNumbers(status: TriggerStatus, redactor: Redactor): TriggerNumbers {
  const { trigger, state, isPaused, counts, lastError, retryAt, connection, circuit } = status;
  return {
    name: trigger.name,
    type: trigger.type,
    state,
    is_paused: isPaused,
    handled: counts.handled,
    failed: counts.failed,
    last_event_at: counts.lastAt ?? null,
    last_error: shownError(lastError, redactor),
    next_retry_at: retryAt ?? null,
    connection: connection === undefined ? null : connectionNumbers(connection, redactor),
    circuit: circuit === undefined ? null : circuitNumbers(circuit, redactor),
  };
}

function connectionNumbers(connection: ConnectionStatus, redactor: Redactor): ConnectionNumbers {
  const { platform, account, state, since, heldBy, lastError, retryAt = null } = connection;
  const last_error = shownError(lastError, redactor);
  return { platform, account, state, since, held_by: heldBy ?? null, last_error, next_retry_at: retryAt };
}

function circuitNumbers({ state, since, lastError }: CircuitStatus, redactor: Redactor): CircuitNumbers {
  return { state, since, last_error: redactor.excerpt(lastError, MAX_ERROR) };
}

function shownError(error: string | undefined, redactor: Redactor): string | null {
  return error === undefined ? null : redactor.excerpt(error, MAX_ERROR);
}

function markOf({ state, isPaused, counts, lastError, retryAt, connection, circuit }: TriggerStatus): string {
  const connected =
    connection && `${connection.state} ${connection.since} ${connection.heldBy} ${connection.lastError}`;
  return `${state} ${isPaused} ${counts.handled} ${counts.failed} ${counts.lastAt} ${retryAt} ${lastError} ${connected} ${circuit?.state} ${circuit?.since} ${circuit?.lastError}`;
}

export function changedTriggers(redactor: Redactor): ChangedRows<TriggerStatus, TriggerNumbers> {
  return new ChangedRows({
    idOf: ({ trigger }) => trigger.name,
    markOf,
    rowOf: (status) => triggerNumbers(status, redactor),
  });
}

/** What stands in every message with numbers. */
export function automationTotals(figures: AutomationFigures): AutomationTotals {
  const works = Object.entries(figures.works()).map(([name, stats]) => workNumbers(name, stats));
  return { deliveries: figures.latestDeliveries, works };
}

function workNumbers(name: string, stats: QueueStats): WorkNumbers {
  const { active, resting, overruns, places, handled, failed, dead, duration_ms } = stats;
  return { name, active, resting, overruns, places, handled, failed, dead, duration_ms };
}

export function waitingDelivery(delivery: Delivery, redactor: Redactor): WaitingDelivery {
  const { id, trigger, waitingFor = '', until, note } = delivery;
  return {
    id: redactor.excerpt(id, MAX_ID),
    trigger: trigger ?? null,
    waiting_for: redactor.excerpt(waitingFor, MAX_ID),
    until: until ?? null,
    note: shownError(note, redactor),
  };
}

export function deadDelivery(delivery: Delivery, redactor: Redactor): DeadDelivery {
  const { id, trigger, attempts, endedAt, note } = delivery;
  return {
    id: redactor.excerpt(id, MAX_ID),
    trigger: trigger ?? null,
    attempts,
    ended_at: endedAt ?? null,
    note: shownError(note, redactor),
  };
}
