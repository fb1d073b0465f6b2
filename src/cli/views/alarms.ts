// Formats the alarms of the gateway.

import type { AlarmRecord } from '../../http/api/alarm-shapes.ts';
import type { Paint } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { counted, duration } from './figures.ts';

/**
 * Returns a line per alarm, such as `ERROR disk_full for 2m 03s: …`, cut after `width` characters. Older
 * gateways have no list.
 */
export function alarmLines(
  alarms: readonly AlarmRecord[] | undefined,
  paint: Paint,
  width = Number.POSITIVE_INFINITY,
): readonly string[] {
  return (alarms ?? []).map((alarm) =>
    paint(alarm.severity === 'error' ? 'bad' : 'busy', printable(alarmText(alarm)).slice(0, width)),
  );
}

function alarmText({ code, severity, since, count, message }: AlarmRecord): string {
  const lasting = `for ${duration((Date.now() - Date.parse(since)) / 1000)}`;
  const times = count === null ? '' : `, ${counted(count, 'time')}`;
  return `${severity.toUpperCase()} ${code} ${lasting}${times}: ${message}`;
}
