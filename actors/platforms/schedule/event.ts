// Converts schedule instants into events. The event id consists of trigger and instant, so that every node
// creates the same event. After clock corrections an instant may repeat as a new event.

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

/** Returns the name of a trigger's instants (ticks) in the store. */
export function tickName(trigger: string): string {
  return `schedule/${trigger}`;
}

/** Returns the id prefix of a trigger's instants. Trigger names contain no colon. */
export function scheduleIdPrefix(trigger: string): string {
  return `schedule:${trigger}:`;
}

/** Returns the id of the instant at `at` (epoch ms), with a suffix for its second and later occurrences. */
export function scheduleId(trigger: string, at: number, time = 1): string {
  const id = scheduleIdPrefix(trigger) + new Date(at).toISOString();
  return time === 1 ? id : `${id}:${time}`;
}

/** Creates an event from an instant. `at` in epoch ms; `time` is the occurrence, from 1. */
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

/** Parses a stored event. Throws if the metadata does not match. */
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
