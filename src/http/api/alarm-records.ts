// Creates the records of alarm-shapes.ts.

import type { Alarm, Alarms } from '../../../actors/base/alarms/alarms.ts';
import type { Redactor } from '../../../actors/base/errors/redact.ts';
import type { AlarmRecord, AlarmState } from './alarm-shapes.ts';
import { isoTime } from './iso-time.ts';

const MAX_MESSAGE = 1_000;

/** Returns the active alarms without their messages. */
export function alarmStates({ list }: Pick<Alarms, 'list'>): readonly AlarmState[] {
  return list.map(alarmState);
}

/** Returns the active alarms. The messages are redacted and cut, because they quote files and errors. */
export function alarmRecords(
  { list }: Pick<Alarms, 'list'>,
  redactor: Pick<Redactor, 'excerpt'>,
): readonly AlarmRecord[] {
  return list.map((alarm) => ({
    ...alarmState(alarm),
    message: redactor.excerpt(alarm.message, MAX_MESSAGE),
  }));
}

function alarmState({ code, severity, since, count }: Alarm): AlarmState {
  return { code, severity, since: isoTime(since), count: count ?? null };
}
