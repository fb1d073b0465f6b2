// The event that an instant of a schedule becomes. Its id is made of the trigger and the instant, so that the same instant
// is the same event whoever saw it come.

import type { ScheduleTrigger } from '../../../config/resources/trigger.ts';
import type { NewEvent, StoredEvent } from '../../store/store.ts';
import type { InboundEvent } from '../adapter.ts';
import { newTrace } from '../new-trace.ts';

interface ScheduleMeta {
  readonly trigger: string;
  /** ISO 8601. */
  readonly at: string;
  readonly cron: string;
  readonly timezone: string;
}

/** Beginning of the ids of all instants of a trigger; no name of a trigger has a colon in it. */
export function scheduleIdPrefix(trigger: string): string {
  return `schedule:${trigger}:`;
}

/** Id of the instant at `at`, epoch ms. */
export function scheduleId(trigger: string, at: number): string {
  return scheduleIdPrefix(trigger) + new Date(at).toISOString();
}

/** `at` in epoch ms. */
export function scheduleEvent({ name, config }: ScheduleTrigger, at: number): NewEvent {
  const { cron, timezone } = config;
  const meta: ScheduleMeta = { trigger: name, at: new Date(at).toISOString(), cron, timezone };
  return {
    id: scheduleId(name, at),
    key: `conversation/schedule/${name}`,
    meta: JSON.stringify(meta),
    body: new Uint8Array(),
    trace: newTrace(),
  };
}

/** Throws for an event that is none of these. */
export function readScheduleEvent(event: Pick<StoredEvent, 'meta'>): InboundEvent {
  const { trigger, at, cron, timezone } = JSON.parse(event.meta) as ScheduleMeta;
  return {
    platform: 'schedule',
    triggers: [trigger],
    names: ['tick'],
    text: undefined,
    channel: undefined,
    user: undefined,
    context: { 'schedule.at': at, 'schedule.cron': cron, 'schedule.timezone': timezone },
    payload: { at },
    parameters: {},
  };
}
