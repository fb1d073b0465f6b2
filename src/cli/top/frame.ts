// Creates a frame of `top` as lines of text: totals, a row per server, a row per trigger. Failed servers and
// triggers with problems come first. If the window is too small, triggers get at least the lower half.

import { type Paint, plain, styleOf } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { alarmLines } from '../views/alarms.ts';
import { deliveryCounts, triggerCounts, waitText } from '../views/automation.ts';
import { counted, duration, latency } from '../views/figures.ts';
import { limitEntries } from '../views/limits.ts';
import { nodesLine } from '../views/nodes.ts';
import { counterColumns, retryText, startText, stateCounts } from '../views/servers.ts';
import { type Column, table } from '../views/table.ts';
import { type Order, orders, type TopRow } from './order.ts';
import { type GatewaySample, MAX_TROUBLES, ratePerSecond } from './sample.ts';
import { triggerBlocks, triggerRows } from './trigger-rows.ts';

/** Data for a frame, in addition to the samples. */
export interface ScreenState {
  readonly address: string;
  readonly order: Order;
  readonly paint: Paint;
  /** Window size; undefined if stdout is not a terminal. */
  readonly height: number | undefined;
  readonly width: number | undefined;
  /** Set if the gateway does not respond: for how long, in seconds, and why. */
  readonly lost: { readonly seconds: number; readonly reason: string } | undefined;
  readonly hasRestarted: boolean;
  /** Description of the keys; empty if stdin is not a keyboard. */
  readonly keys: string;
}

export function topFrame(now: GatewaySample, before: GatewaySample | undefined, view: ScreenState): string[] {
  const { height = Number.POSITIVE_INFINITY, width, paint, order } = view;
  const rows = rowsOf(now, before).sort(orders[order]);
  const headLines = [
    headLine(now, before, view),
    ...alarmLines(now.stats.alarms, paint, width),
    ...nodesLines(now, view),
    serversLine(now, view),
    ...triggersLine(now, view),
    ...limitLines(now, view),
    ...waitLines(now, view),
    noteLine(now, view),
  ];
  const triggerEntries = triggerRows(now, Date.now());
  const triggers = triggerBlocks(triggerEntries, now, paint, width);
  const availableLines = height - headLines.length;
  // Triggers get the lines that servers do not need, but at least half of the lines.
  const serverLines = 1 + rows.length + now.troubles.size;
  const triggerLines = triggerEntries.length === 0 ? 0 : GAP_AND_TITLES + triggers.blocks.flat().length;
  const forTriggers = Math.min(
    triggerLines,
    Math.max(Math.floor(availableLines / 2), availableLines - serverLines),
  );
  const hasTriggers = forTriggers > GAP_AND_TITLES;
  // One line is for the titles.
  const maxLines = Math.max(1, availableLines - (hasTriggers ? forTriggers : 0) - 1);
  // Only rows that can be visible are formatted.
  const [titles = '', ...lines] = table(columns(paint), rows.slice(0, maxLines), width);
  const blocks = lines.map((line, at) => [line, ...troubleLines(rows[at], now, view)]);
  return [
    ...headLines,
    titles,
    ...fitBlocks(blocks, rows.length, maxLines, paint),
    ...(hasTriggers
      ? [
          '',
          triggers.titles,
          ...fitBlocks(triggers.blocks, triggerEntries.length, forTriggers - GAP_AND_TITLES, paint),
        ]
      : []),
  ].slice(0, height);
}

const GAP_AND_TITLES = 2;

/** Returns the lines of the blocks that fit, and a last line with the number of omitted blocks. */
function fitBlocks(
  blocks: readonly (readonly string[])[],
  rowCount: number,
  maxLines: number,
  paint: Paint,
): string[] {
  if (blocks.length === rowCount && blocks.flat().length <= maxLines) return blocks.flat();
  const lines: string[] = [];
  let count = 0;
  for (const block of blocks) {
    if (lines.length + block.length > maxLines - 1) break;
    lines.push(...block);
    count += 1;
  }
  return [...lines, paint('faint', `and ${rowCount - count} more`)];
}

function headLine(
  { at, stats }: GatewaySample,
  before: GatewaySample | undefined,
  view: ScreenState,
): string {
  const last = before && { at: before.at, count: before.stats.requests.total };
  const rate = ratePerSecond({ at, count: stats.requests.total }, last);
  const parts = [
    view.address,
    `up ${duration(stats.uptime_seconds)}`,
    `${rateText(rate)} requests/s`,
    `${stats.requests.in_flight} in flight`,
    counted(stats.sessions, 'session'),
    `${stats.listens} listening`,
  ];
  return view.paint('strong', parts.join('  ').slice(0, view.width));
}

/** Returns a line about the cluster's nodes. */
function nodesLines(
  { nodes }: GatewaySample,
  { paint, width = Number.POSITIVE_INFINITY }: ScreenState,
): string[] {
  if (nodes === undefined) return [];
  const plainText = nodesLine(nodes, plain);
  return [plainText.length > width ? plainText.slice(0, width) : nodesLine(nodes, paint)];
}

function serversLine(
  { stats }: GatewaySample,
  { paint, order, keys, width = Number.POSITIVE_INFINITY }: ScreenState,
): string {
  const servers = Object.values(stats.servers);
  const sorted = `  sorted by ${order}${keys === '' ? '' : `; ${keys}`}`;
  const plainText = stateCounts(servers, plain);
  // Text is cut without colours: a cut colour sequence would colour the rest of the window.
  if (plainText.length > width) return plainText.slice(0, width);
  return stateCounts(servers, paint) + paint('faint', sorted.slice(0, width - plainText.length));
}

/** Returns a line with the counts of triggers and deliveries. Returns none if no triggers exist. */
function triggersLine(
  { stats }: GatewaySample,
  { paint, width = Number.POSITIVE_INFINITY }: ScreenState,
): string[] {
  const { triggers, deliveries = null } = stats;
  if (triggers === undefined) return [];
  const line = (style: Paint) =>
    `${triggerCounts(Object.values(triggers), style)}; deliveries: ${deliveryCounts(deliveries, style)}`;
  const plainText = line(plain);
  return [plainText.length > width ? plainText.slice(0, width) : line(paint)];
}

/** Returns a line per limit that is used to a notable part. */
function limitLines({ stats }: GatewaySample, { paint, width }: ScreenState): string[] {
  return limitEntries(stats, plain).map(([name, text]) => paint('busy', `${name}: ${text}`.slice(0, width)));
}

/** Returns a line per parked delivery, which waits for a signal or a time. */
function waitLines({ waiting, approvals }: GatewaySample, { width }: ScreenState): string[] {
  return waiting.map((delivery) =>
    `    ${printable(delivery.id)} waits for ${waitText(delivery, approvals)}`.slice(0, width),
  );
}

function noteLine({ stats }: GatewaySample, { lost, hasRestarted, paint, width }: ScreenState): string {
  if (lost !== undefined) {
    const since = duration(lost.seconds);
    const text = `NO RESPONSE for ${since}, showing the last values; retrying: ${printable(lost.reason)}`;
    return paint('bad', text.slice(0, width));
  }
  const restarted = `the gateway restarted ${duration(stats.uptime_seconds)} ago`;
  return hasRestarted ? paint('busy', restarted.slice(0, width)) : '';
}

function rowsOf(now: GatewaySample, before: GatewaySample | undefined): TopRow[] {
  return Object.entries(now.stats.servers).map(([id, server]) => {
    const previous =
      before !== undefined && Object.hasOwn(before.stats.servers, id) && before.stats.servers[id];
    const last = previous ? { at: before.at, count: previous.requests } : undefined;
    const rate = ratePerSecond({ at: now.at, count: server.requests }, last);
    return { id, ...server, rate, trouble: now.troubles.get(id) };
  });
}

function columns(paint: Paint): Column<TopRow>[] {
  return [
    { title: 'SERVER', text: ({ id }) => id },
    {
      title: 'STATE',
      text: ({ state, installing, trouble }) =>
        state === 'failed' ? (trouble?.isParked ? 'PARKED' : 'FAILED') : startText(state, installing),
      paint: ({ state }, text) => paint(styleOf[state], text),
    },
    { title: 'REQ/S', isNumber: true, text: ({ rate }) => rateText(rate) },
    ...counterColumns,
    { title: 'P50', isNumber: true, text: (row) => latency(row.latency_ms.p50) },
    { title: 'P95', isNumber: true, text: (row) => latency(row.latency_ms.p95) },
  ];
}

/** Returns the lines under a failed server: the time of the next retry and the error. */
function troubleLines(
  row: TopRow | undefined,
  { troubles }: GatewaySample,
  { paint, width }: ScreenState,
): string[] {
  if (row?.state === 'failed' && row.trouble === undefined && troubles.size >= MAX_TROUBLES)
    return [paint('busy', `    "servers show ${row.id}" shows the reason`.slice(0, width))];
  if (row?.trouble === undefined) return [];
  const { nextRetryAt, reason } = row.trouble;
  const text = `    next try ${retryText(nextRetryAt, Date.now())}: ${printable(reason)}`;
  return [paint('busy', text.slice(0, width))];
}

function rateText(rate: number | undefined): string {
  return rate === undefined ? '-' : rate.toFixed(1);
}
