// The event that an instant of a schedule becomes. Its id is made of the trigger and the instant, so that the same instant
// is the same event whoever saw it come. Where the clock was set back it may come a second time, as another event.

import type { ScheduleTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { newTrace } from '../payloads/payload-member.ts';

interface ScheduleMeta {
  readonly trigger: string;
  /** ISO 8601. */
  readonly at: string;
  readonly cron: string;
  readonly timezone: string;
}

/** The name under which the store keeps the instants of a trigger. */
export function tickName(trigger: string): string {
  return `schedule/${trigger}`;
}

/** Beginning of the ids of all instants of a trigger; no name of a trigger has a colon in it. */
export function scheduleIdPrefix(trigger: string): string {
  return `schedule:${trigger}:`;
}

/** Id of the instant at `at`, epoch ms; of one that comes a second or third time that is said. */
export function scheduleId(trigger: string, at: number, time = 1): string {
  const id = scheduleIdPrefix(trigger) + new Date(at).toISOString();
  return time === 1 ? id : `${id}:${time}`;
}

/** `at` in epoch ms; `time` as in its id. */
export function scheduleEvent({ name, config }: ScheduleTrigger, at: number, time = 1): NewEvent {
  const { cron, timezone } = config;
  const meta: ScheduleMeta = { trigger: name, at: new Date(at).toISOString(), cron, timezone };
  return {
    id: scheduleId(name, at, time),
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
