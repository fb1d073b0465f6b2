// States of triggers and sizes of queues for the inspector's feed.

import type { TriggerStatus } from '../../../actors/automation/operator/operator.ts';
import type { AutomationFigures } from '../../http/api/automation-figures.ts';
import type { RecordView } from '../../http/api/record-view.ts';
import type { TriggerState } from '../../http/api/trigger-shapes.ts';
import { triggerState } from '../../http/api/trigger-state.ts';
import type { AutomationTotals } from '../wire/feed.ts';
import { ChangedRows } from './changed-rows.ts';

export function trackTriggers(view: RecordView): ChangedRows<TriggerStatus, TriggerState> {
  const rowOf = (status: TriggerStatus) => triggerState(status, view);
  return new ChangedRows({
    idOf: ({ trigger }) => trigger.name,
    fingerprintOf: (status) => JSON.stringify(rowOf(status)),
    rowOf,
  });
}

/** Returns the totals of all kinds of work (conversations and outbound messages), for `numbers` messages. */
export function automationTotals(figures: AutomationFigures): AutomationTotals {
  const works = Object.entries(figures.works()).map(([name, { states: _, ...stats }]) => ({
    name,
    ...stats,
  }));
  return { deliveries: figures.latestDeliveries, limits: figures.limits(), works };
}
