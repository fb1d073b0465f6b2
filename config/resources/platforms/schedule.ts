// What a trigger of type Schedule may say in spec.config: instants by cron.

import * as Type from 'typebox';
import { text } from '../../text-schema.ts';
import { cronFault } from '../fields/cron.ts';
import type { Filled } from '../fields/filled.ts';
import { zoneFault } from '../fields/zone.ts';
import type { TriggerType } from '../triggers/trigger-type.ts';

const scheduleConfigSchema = Type.Object(
  {
    cron: text(
      'Expression of cron: minute, hour, day of month, month, day of week; or six fields, seconds first.',
    ),
    timezone: Type.String({ description: 'Time zone by its IANA name.', default: 'UTC', minLength: 1 }),
    catchup: Type.Enum(['none', 'last', 'all'], {
      description:
        'Instants missed while nothing ran: none of them are made up for, the last, or all (within bounds).',
      default: 'none',
    }),
    overlap: Type.Enum(['skip', 'queue', 'replace'], {
      description:
        'When an instant comes while the one before is still handled: it is left out, it waits, or the running one is ended.',
      default: 'queue',
    }),
  },
  { description: 'Instants by cron.' },
);

/** Filled and checked. */
export type ScheduleConfig = Filled<Type.Static<typeof scheduleConfigSchema>>;

export const scheduleType: TriggerType<ScheduleConfig> = {
  config: scheduleConfigSchema,
  wayIn: ({ config }) => ({ text: `${config.cron} (${config.timezone})` }),
  complete(config, fields) {
    const fault = config.cron === undefined ? undefined : cronFault(config.cron);
    if (fault !== undefined) fields.report('cron', fault);
    const unknown = zoneFault(config.timezone);
    if (unknown !== undefined) fields.report('timezone', unknown);
    return config;
  },
};
