// Rows for the triggers in `top`: counts, and reasons for problems.
//
// The gateway counts deliveries by state, not by trigger, so the newest deliveries of the sample are counted
// here. A delivery that was not attempted yet has no trigger in its record; its id or conversation may
// contain the name.

import type { DeliveryRecord } from '../../http/api/delivery-shapes.ts';
import type { TriggerStats } from '../../http/api/stats-shapes.ts';
import type { TriggerRecord } from '../../http/api/trigger-shapes.ts';
import type { Paint } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { isBlocked, stateColumn } from '../views/automation.ts';
import { retryText } from '../views/servers.ts';
import { type Column, table } from '../views/table.ts';
import type { GatewaySample } from './sample.ts';

interface TriggerBacklog {
  waiting: number;
  running: number;
  dead: number;
  /** Number of deliveries with failed attempts, which are being retried. */
  retrying: number;
  /** Note of the newest retried delivery. */
  retryNote: string | undefined;
  /** Note of the newest dead delivery. */
  deadNote: string | undefined;
}

export interface TriggerRow extends TriggerStats, TriggerBacklog {
  readonly name: string;
  /** Problems of the trigger, with their reasons. */
  readonly reasons: readonly string[];
}

const emptyBacklog: TriggerBacklog = {
  waiting: 0,
  running: 0,
  dead: 0,
  retrying: 0,
  retryNote: undefined,
  deadNote: undefined,
};

/** Returns the rows. Triggers with problems come first, then those with the most work. */
export function triggerRows({ stats, backlog, triggers }: GatewaySample, now: number): TriggerRow[] {
  const triggerStats = stats.triggers ?? {};
  const counts = countBacklog(backlog.deliveries, new Set(Object.keys(triggerStats)));
  const rows = Object.entries(triggerStats).map(([name, trigger]) => {
    const row = { name, ...trigger, ...(counts.get(name) ?? emptyBacklog) };
    return { ...row, reasons: reasonsOf(row, triggers.get(name), now) };
  });
  const busy = (row: TriggerRow) => row.waiting + row.running;
  return rows.sort(
    (a, b) =>
      Number(b.reasons.length > 0) - Number(a.reasons.length > 0) ||
      busy(b) - busy(a) ||
      (a.name < b.name ? -1 : 1),
  );
}

/** Returns the title line, and a block per row: the row, and a line with the problems. */
export function triggerBlocks(
  rows: readonly TriggerRow[],
  { backlog }: GatewaySample,
  paint: Paint,
  width: number | undefined,
): { readonly titles: string; readonly blocks: readonly (readonly string[])[] } {
  const [titles = '', ...lines] = table(columns(paint, backlog.isWhole), rows, width);
  const blocks = lines.map((line, at) => {
    const reasons = rows[at]?.reasons ?? [];
    if (reasons.length === 0) return [line];
    return [line, paint('busy', `    ${reasons.map(printable).join('; ')}`.slice(0, width))];
  });
  return { titles, blocks };
}

function columns(paint: Paint, isComplete: boolean): Column<TriggerRow>[] {
  // If the sample does not contain all deliveries, the count is a minimum: `12+`.
  const least = (count: number) => `${count}${isComplete || count === 0 ? '' : '+'}`;
  return [
    { title: 'TRIGGER', text: ({ name }) => name },
    stateColumn(paint),
    { title: 'WAITING', isNumber: true, text: ({ waiting }) => least(waiting) },
    { title: 'RUNNING', isNumber: true, text: ({ running }) => least(running) },
    {
      title: 'DEAD',
      isNumber: true,
      text: ({ dead }) => least(dead),
      paint: ({ dead }, text) => (dead > 0 ? paint('bad', text) : text),
    },
    { title: 'HANDLED', isNumber: true, text: ({ handled }) => String(handled) },
    { title: 'FAILED', isNumber: true, text: ({ failed }) => String(failed) },
  ];
}

/** Counts the deliveries per trigger. The newest delivery comes first. */
function countBacklog(
  deliveries: readonly DeliveryRecord[],
  names: ReadonlySet<string>,
): ReadonlyMap<string, TriggerBacklog> {
  const counts = new Map<string, TriggerBacklog>();
  for (const delivery of deliveries) {
    const name = triggerOf(delivery, names);
    if (name === undefined) continue;
    const counted = counts.get(name) ?? { ...emptyBacklog };
    counts.set(name, counted);
    if (delivery.state === 'dead') {
      counted.dead += 1;
      counted.deadNote ??= delivery.note ?? undefined;
    } else if (delivery.state === 'running') counted.running += 1;
    else {
      counted.waiting += 1;
      if (delivery.state !== 'retrying') continue;
      counted.retrying += 1;
      counted.retryNote ??= delivery.note ?? undefined;
    }
  }
  return counts;
}

/** Returns the delivery's trigger: `http:alerts/7` in `conversation/http/alerts/db` belongs to alerts. */
function triggerOf(
  { trigger, id, conversation }: DeliveryRecord,
  names: ReadonlySet<string>,
): string | undefined {
  if (trigger !== null) return trigger;
  const candidates = [/^[a-z]+:([^/]+)\//.exec(id)?.[1], conversation.split('/')[2]];
  return candidates.find((name) => name !== undefined && names.has(name));
}

function reasonsOf(row: Omit<TriggerRow, 'reasons'>, record: TriggerRecord | undefined, now: number) {
  const { name, state, paused, blocked_by, connection, circuit, waiting, dead, retrying } = row;
  const because = (what: string, why: string | null | undefined) => (why ? `${what}: ${why}` : what);
  const isLost =
    state !== 'failed' && typeof connection === 'string' && !['connected', 'standby'].includes(connection);
  return [
    ...(state === 'failed'
      ? [because(`next try ${retryText(record?.next_retry_at ?? null, now)}`, record?.last_error)]
      : []),
    ...(isBlocked(row) ? [`refuses events: ${blocked_by}`] : []),
    ...(paused ? [`paused, ${waiting} held; "triggers resume ${name}" releases them`] : []),
    ...(isLost ? [because(`not connected (${connection})`, record?.connection?.last_error)] : []),
    ...(circuit === null ? [] : [because('its platform does not respond', record?.circuit?.last_error)]),
    ...(retrying > 0 ? [because(`${retrying} being retried`, row.retryNote)] : []),
    ...(dead > 0 ? [because(`${dead} dead`, row.deadNote)] : []),
  ];
}
