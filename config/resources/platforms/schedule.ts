// Schema and checks of Schedule triggers, which create events at the times of a cron expression.

import * as Type from 'typebox';
import { text } from '../../text-schema.ts';
import { cronFault } from '../fields/cron.ts';
import type { Filled } from '../fields/with-defaults.ts';
import { zoneFault } from '../fields/zone.ts';
import type { TriggerType } from '../triggers/trigger-type.ts';

const scheduleConfigSchema = Type.Object(
  {
    cron: text(
      'Cron expression: minute, hour, day of month, month, day of week; or six fields with seconds first; or a name such as @daily.',
    ),
    timezone: Type.String({ description: 'IANA time zone.', default: 'UTC', minLength: 1 }),
    catchup: Type.Enum(['none', 'last', 'all'], {
      description:
        'Handling of times missed while the gateway was stopped: none, only the last, or all (within limits).',
      default: 'none',
    }),
    overlap: Type.Enum(['skip', 'queue', 'replace'], {
      description:
        'Handling of a time while the previous run is still active: skip it, queue it, or replace the active run.',
      default: 'queue',
    }),
  },
  { description: 'Schedule with a cron expression.' },
);

/** Config with defaults. */
export type ScheduleConfig = Filled<Type.Static<typeof scheduleConfigSchema>>;

export const scheduleType: TriggerType<ScheduleConfig> = {
  config: scheduleConfigSchema,
  describeSource: ({ config }) => ({ text: `${config.cron} (${config.timezone})` }),
  complete(config, fields) {
    const fault = config.cron === undefined ? undefined : cronFault(config.cron);
    if (fault !== undefined) fields.report('cron', fault);
    const unknownZone = zoneFault(config.timezone);
    if (unknownZone !== undefined) fields.report('timezone', unknownZone);
    return config;
  },
};
