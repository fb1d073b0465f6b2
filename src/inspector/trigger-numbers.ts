// The numbers of triggers, of what is done about their events, and the deliveries that were given up, as the inspector
// shows them. What came from outside is redacted and cut (A9).

import type { TriggerStatus } from '../../actors/automation/operator.ts';
import type { QueueStats } from '../../actors/inbox/work-queue.ts';
import type { Redactor } from '../../actors/redact.ts';
import type { Delivery } from '../../actors/store/store.ts';
import type { AutomationFigures } from '../http/api/automation-figures.ts';
import { ChangedRows } from './changed-rows.ts';
import type { AutomationTotals, DeadDelivery, QueueNumbers, TriggerNumbers } from './wire.ts';

const MAX_ERROR = 300;
const MAX_ID = 200;

export function triggerNumbers(status: TriggerStatus, redactor: Redactor): TriggerNumbers {
  const { trigger, state, isPaused, counts, lastError, retryAt } = status;
  return {
    name: trigger.name,
    type: trigger.type,
    state,
    is_paused: isPaused,
    handled: counts.handled,
    failed: counts.failed,
    last_event_at: counts.lastAt ?? null,
    last_error: lastError === undefined ? null : redactor.excerpt(lastError, MAX_ERROR),
    next_retry_at: retryAt ?? null,
  };
}

function markOf({ state, isPaused, counts, lastError, retryAt }: TriggerStatus): string {
  return `${state} ${isPaused} ${counts.handled} ${counts.failed} ${counts.lastAt} ${retryAt} ${lastError}`;
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
  const { conversations, outbox } = figures.queues();
  return {
    deliveries: figures.latestDeliveries,
    conversations: queueNumbers(conversations),
    outbox: queueNumbers(outbox),
  };
}

function queueNumbers(queue: QueueStats): QueueNumbers {
  const { active, resting, overruns, places, handled, failed, dead, duration_ms } = queue;
  return { active, resting, overruns, places, handled, failed, dead, duration_ms };
}

export function deadDelivery(delivery: Delivery, redactor: Redactor): DeadDelivery {
  const { id, trigger, attempts, endedAt, note } = delivery;
  return {
    id: redactor.excerpt(id, MAX_ID),
    trigger: trigger ?? null,
    attempts,
    ended_at: endedAt ?? null,
    note: note === undefined ? null : redactor.excerpt(note, MAX_ERROR),
  };
}
