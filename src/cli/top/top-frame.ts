// One picture of `top` as lines of text. Servers that have failed stand above all others, whatever the order; so do triggers that are not
// well, which have the lower half of the window where there is not room for all.

import { type Paint, plain, styleOf } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { deliveryCounts, triggerCounts, waitText } from '../views/automation-views.ts';
import { counted, duration, latency } from '../views/figures.ts';
import { nodesLine } from '../views/node-views.ts';
import { counterColumns, retryText, stateCounts } from '../views/server-views.ts';
import { type Column, table } from '../views/table.ts';
import { type Order, orders, type TopRow } from './top-order.ts';
import { MAX_TROUBLES, ratePerSecond, type Sample } from './top-sample.ts';
import { triggerBlocks, triggerRows } from './trigger-rows.ts';

export interface View {
  readonly address: string;
  readonly order: Order;
  readonly paint: Paint;
  /** Size of the window; undefined where there is none, and then nothing is left out. */
  readonly height: number | undefined;
  readonly width: number | undefined;
  /** The gateway does not answer: since when, in seconds, and why. */
  readonly lost: { readonly seconds: number; readonly reason: string } | undefined;
  readonly hasRestarted: boolean;
  /** What the keys do; empty where there are none. */
  readonly keys: string;
}

export function topFrame(now: Sample, before: Sample | undefined, view: View): string[] {
  const { height = Number.POSITIVE_INFINITY, width, paint, order } = view;
  const rows = rowsOf(now, before).sort(orders[order]);
  const above = [
    headLine(now, before, view),
    ...nodesLines(now, view),
    serversLine(now, view),
    ...triggersLine(now, view),
    ...waitLines(now, view),
    noteLine(now, view),
  ];
  const below = triggerRows(now, Date.now());
  const triggers = triggerBlocks(below, now, paint, width);
  const room = height - above.length;
  // As many as there are, at least half of the room.
  const serverLines = 1 + rows.length + now.troubles.size;
  const triggerLines = below.length === 0 ? 0 : GAP_AND_TITLES + triggers.blocks.flat().length;
  const forTriggers = Math.min(triggerLines, Math.max(Math.floor(room / 2), room - serverLines));
  const hasTriggers = forTriggers > GAP_AND_TITLES;
  // One line for the titles.
  const places = Math.max(1, room - (hasTriggers ? forTriggers : 0) - 1);
  // No window shows more rows than it has lines.
  const [titles = '', ...lines] = table(columns(paint), rows.slice(0, places), width);
  const blocks = lines.map((line, at) => [line, ...troubleLines(rows[at], now, view)]);
  return [
    ...above,
    titles,
    ...fitted(blocks, rows.length, places, paint),
    ...(hasTriggers
      ? ['', triggers.titles, ...fitted(triggers.blocks, below.length, forTriggers - GAP_AND_TITLES, paint)]
      : []),
  ].slice(0, height);
}

const GAP_AND_TITLES = 2;

/** The blocks that have room, one line kept for how many there are besides. */
function fitted(
  blocks: readonly (readonly string[])[],
  rowCount: number,
  places: number,
  paint: Paint,
): string[] {
  if (blocks.length === rowCount && blocks.flat().length <= places) return blocks.flat();
  const lines: string[] = [];
  let shown = 0;
  for (const block of blocks) {
    if (lines.length + block.length > places - 1) break;
    lines.push(...block);
    shown += 1;
  }
  return [...lines, paint('faint', `and ${rowCount - shown} more`)];
}

function headLine({ at, stats }: Sample, before: Sample | undefined, view: View): string {
  const last = before && { at: before.at, count: before.stats.requests.total };
  const rate = ratePerSecond({ at, count: stats.requests.total }, last);
  const parts = [
    view.address,
    `up ${duration(stats.uptime_seconds)}`,
    `${rateText(rate)} requests/s`,
    `${stats.requests.in_flight} in flight`,
    counted(stats.sessions, 'session'),
    counted(stats.listens, 'listen'),
  ];
  return view.paint('strong', parts.join('  ').slice(0, view.width));
}

/** Only where there is a cluster. */
function nodesLines({ nodes }: Sample, { paint, width = Number.POSITIVE_INFINITY }: View): string[] {
  if (nodes === undefined) return [];
  const bare = nodesLine(nodes, plain);
  return [bare.length > width ? bare.slice(0, width) : nodesLine(nodes, paint)];
}

function serversLine(
  { stats }: Sample,
  { paint, order, keys, width = Number.POSITIVE_INFINITY }: View,
): string {
  const servers = Object.values(stats.servers);
  const sorted = `  sorted by ${order}${keys === '' ? '' : `; ${keys}`}`;
  const bare = stateCounts(servers, plain);
  // What is cut has no colours: a cut through a colour would run on through the window.
  if (bare.length > width) return bare.slice(0, width);
  return stateCounts(servers, paint) + paint('faint', sorted.slice(0, width - bare.length));
}

/** Only where there are triggers. */
function triggersLine({ stats }: Sample, { paint, width = Number.POSITIVE_INFINITY }: View): string[] {
  const { triggers, deliveries = null } = stats;
  if (triggers === undefined) return [];
  const line = (style: Paint) =>
    `${triggerCounts(Object.values(triggers), style)}; deliveries: ${deliveryCounts(deliveries, style)}`;
  const bare = line(plain);
  return [bare.length > width ? bare.slice(0, width) : line(paint)];
}

/** What is parked, and for what; the line above counts all of them. */
function waitLines({ waiting }: Sample, { width }: View): string[] {
  return waiting.map((delivery) =>
    `    ${printable(delivery.id)} waits for ${waitText(delivery)}`.slice(0, width),
  );
}

function noteLine({ stats }: Sample, { lost, hasRestarted, paint, width }: View): string {
  if (lost !== undefined) {
    const since = duration(lost.seconds);
    const text = `NO ANSWER for ${since}, these are the last numbers; trying again: ${printable(lost.reason)}`;
    return paint('bad', text.slice(0, width));
  }
  const restarted = `the gateway has restarted ${duration(stats.uptime_seconds)} ago`;
  return hasRestarted ? paint('busy', restarted.slice(0, width)) : '';
}

function rowsOf(now: Sample, before: Sample | undefined): TopRow[] {
  return Object.entries(now.stats.servers).map(([id, server]) => {
    const past = before !== undefined && Object.hasOwn(before.stats.servers, id) && before.stats.servers[id];
    const last = past ? { at: before.at, count: past.requests } : undefined;
    const rate = ratePerSecond({ at: now.at, count: server.requests }, last);
    return { id, ...server, rate, trouble: now.troubles.get(id) };
  });
}

function columns(paint: Paint): Column<TopRow>[] {
  return [
    { title: 'SERVER', text: ({ id }) => id },
    {
      title: 'STATE',
      text: ({ state, trouble }) => (state === 'failed' ? (trouble?.isParked ? 'PARKED' : 'FAILED') : state),
      paint: ({ state }, text) => paint(styleOf[state], text),
    },
    { title: 'REQ/S', isNumber: true, text: ({ rate }) => rateText(rate) },
    ...counterColumns,
    { title: 'P50', isNumber: true, text: (row) => latency(row.latency_ms.p50) },
    { title: 'P95', isNumber: true, text: (row) => latency(row.latency_ms.p95) },
  ];
}

/** Below a server that has failed: when it is tried again, and why it failed. */
function troubleLines(row: TopRow | undefined, { troubles }: Sample, { paint, width }: View): string[] {
  if (row?.state === 'failed' && row.trouble === undefined && troubles.size >= MAX_TROUBLES)
    return [paint('busy', `    "servers show ${row.id}" tells why`.slice(0, width))];
  if (row?.trouble === undefined) return [];
  const { nextRetryAt, reason } = row.trouble;
  const text = `    next try ${retryText(nextRetryAt, Date.now())}: ${printable(reason)}`;
  return [paint('busy', text.slice(0, width))];
}

function rateText(rate: number | undefined): string {
  return rate === undefined ? '-' : rate.toFixed(1);
}
