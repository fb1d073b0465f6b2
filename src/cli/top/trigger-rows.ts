// The triggers as `top` shows them: by name, with what waits of each and, of one that is not well, why. Those come first.
//
// The gateway counts deliveries by state alone; how many are of which trigger is counted here among the newest of them. One that has
// not been tried yet is no trigger's in its record, and is found by its id and its conversation, where these name one.

import type { DeliveryRecord } from '../../http/api/delivery-shapes.ts';
import type { TriggerStats } from '../../http/api/stats-shapes.ts';
import type { TriggerRecord } from '../../http/api/trigger-shapes.ts';
import type { Paint } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { stateText, triggerStyle } from '../views/automation-views.ts';
import { retryText } from '../views/server-views.ts';
import { type Column, table } from '../views/table.ts';
import type { Sample } from './top-sample.ts';

interface Backlog {
  waiting: number;
  running: number;
  dead: number;
  /** Those that are tried again, and of the newest of these and of the dead why. */
  retrying: number;
  retryNote: string | undefined;
  deadNote: string | undefined;
}

export interface TriggerRow extends TriggerStats, Backlog {
  readonly name: string;
  /** Why it is not well; none where it is. */
  readonly reasons: readonly string[];
}

const none: Backlog = {
  waiting: 0,
  running: 0,
  dead: 0,
  retrying: 0,
  retryNote: undefined,
  deadNote: undefined,
};

/** What is wrong comes first, then what has most to do. */
export function triggerRows({ stats, backlog, triggers }: Sample, now: number): TriggerRow[] {
  const known = stats.triggers ?? {};
  const counts = counted(backlog.deliveries, new Set(Object.keys(known)));
  const rows = Object.entries(known).map(([name, trigger]) => {
    const row = { name, ...trigger, ...(counts.get(name) ?? none) };
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

/** The title, and of each row its line with, below it, why it is not well. */
export function triggerBlocks(
  rows: readonly TriggerRow[],
  { backlog }: Sample,
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

function columns(paint: Paint, isWhole: boolean): Column<TriggerRow>[] {
  // Among more than were looked at there may be others of it.
  const least = (count: number) => `${count}${isWhole || count === 0 ? '' : '+'}`;
  return [
    { title: 'TRIGGER', text: ({ name }) => name },
    { title: 'STATE', text: stateText, paint: ({ state }, text) => paint(triggerStyle(state), text) },
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

/** `deliveries` are the newest first. */
function counted(
  deliveries: readonly DeliveryRecord[],
  names: ReadonlySet<string>,
): ReadonlyMap<string, Backlog> {
  const counts = new Map<string, Backlog>();
  for (const delivery of deliveries) {
    const name = triggerOf(delivery, names);
    if (name === undefined) continue;
    const one = counts.get(name) ?? { ...none };
    counts.set(name, one);
    if (delivery.state === 'dead') {
      one.dead += 1;
      one.deadNote ??= delivery.note ?? undefined;
    } else if (delivery.state === 'running') one.running += 1;
    else {
      one.waiting += 1;
      if (delivery.state !== 'retrying') continue;
      one.retrying += 1;
      one.retryNote ??= delivery.note ?? undefined;
    }
  }
  return counts;
}

/** `http:alerts/7` in `conversation/http/alerts/db` is of alerts. */
function triggerOf(
  { trigger, id, conversation }: DeliveryRecord,
  names: ReadonlySet<string>,
): string | undefined {
  if (trigger !== null) return trigger;
  const told = [/^[a-z]+:([^/]+)\//.exec(id)?.[1], conversation.split('/')[2]];
  return told.find((name) => name !== undefined && names.has(name));
}

function reasonsOf(row: Omit<TriggerRow, 'reasons'>, record: TriggerRecord | undefined, now: number) {
  const { name, state, paused, connection, circuit, waiting, dead, retrying } = row;
  const because = (what: string, why: string | null | undefined) => (why ? `${what}: ${why}` : what);
  const isLost =
    state !== 'failed' && typeof connection === 'string' && !['connected', 'standby'].includes(connection);
  return [
    ...(state === 'failed'
      ? [because(`next try ${retryText(record?.next_retry_at ?? null, now)}`, record?.last_error)]
      : []),
    ...(paused ? [`paused, ${waiting} held up; "triggers resume ${name}" lets go`] : []),
    ...(isLost ? [because(`not connected (${connection})`, record?.connection?.last_error)] : []),
    ...(circuit === null ? [] : [because('its platform does not answer', record?.circuit?.last_error)]),
    ...(retrying > 0 ? [because(`${retrying} tried again`, row.retryNote)] : []),
    ...(dead > 0 ? [because(`${dead} dead`, row.deadNote)] : []),
  ];
}
