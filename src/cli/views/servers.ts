// Formats servers and the statistics of the gateway: tables, details, counters, and results of changes.

import type { ServerDetails, ServerRecord, ServerStats } from '../../http/api/server-shapes.ts';
import type { Stats } from '../../http/api/stats-shapes.ts';
import type { ReloadDifference } from '../../reloads.ts';
import { type Paint, styleOf } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { alarmLines } from './alarms.ts';
import { deliveryCounts, triggerCounts, workCounts } from './automation.ts';
import { withReasons } from './failure-reasons.ts';
import { counted, duration, latency } from './figures.ts';
import { limitEntries } from './limits.ts';
import { localTime, optionalTime } from './local-time.ts';
import { type Column, table } from './table.ts';

export interface ServerRow extends ServerRecord {
  /** Undefined if the server was added between the requests for servers and statistics. */
  readonly latency: ServerStats['latency_ms'] | undefined;
}

/** Maximum number of printed lines from a server's stderr. */
const STDERR_LINES = 10;

type Counters = Omit<ServerStats, 'latency_ms'>;

/** Columns with counters, in all tables of servers. */
export const counterColumns: readonly Column<Counters>[] = [
  { title: 'IN FLIGHT', isNumber: true, text: (row) => String(row.in_flight) },
  { title: 'WAITING', isNumber: true, text: (row) => String(row.waiting) },
  { title: 'REQUESTS', isNumber: true, text: (row) => String(row.requests) },
  { title: 'FAILED', isNumber: true, text: (row) => String(row.failed) },
  { title: 'TOOL ERRORS', isNumber: true, text: (row) => String(row.tool_errors) },
  { title: 'RESTARTS', isNumber: true, text: (row) => String(row.restarts) },
  { title: 'UPTIME', isNumber: true, text: uptime },
];

export function serverTable(rows: readonly ServerRow[], paint: Paint, width?: number): string[] {
  const columns: Column<ServerRow>[] = [
    { title: 'SERVER', text: ({ id }) => id },
    {
      title: 'STATE',
      text: ({ state, enabled, installing }) => (enabled ? startText(state, installing) : 'disabled'),
      paint: ({ state }, text) => paint(styleOf[state], text),
    },
    { title: 'RUNTIME', text: ({ runtime }) => runtime },
    ...counterColumns,
    { title: 'P50', isNumber: true, text: (row) => latency(row.latency?.p50 ?? null) },
    { title: 'P95', isNumber: true, text: (row) => latency(row.latency?.p95 ?? null) },
  ];
  if (rows.length === 0) return ['no servers: the catalog is empty'];
  return table(withReasons(columns, rows, paint, width), rows, width);
}

/** Returns the uptime; `-` if the server is not running. */
export function uptime({ state, uptime_seconds }: Pick<ServerRecord, 'state' | 'uptime_seconds'>): string {
  return state === 'running' || state === 'idle' || uptime_seconds > 0 ? duration(uptime_seconds) : '-';
}

export function serverPage(server: ServerDetails, stats: ServerStats | undefined, paint: Paint): string[] {
  const { p50 = null, p95 = null, p99 = null } = stats?.latency_ms ?? {};
  const { state, last_error, next_retry_at } = server;
  const label = displayState(server);
  const retry = retryText(next_retry_at, Date.now());
  const entries: readonly (readonly [string, string])[] = [
    ['server', server.id],
    ['state', paint(styleOf[state], label)],
    ...installEntry(server),
    ['runtime', `${server.runtime}, isolation ${server.isolation}`],
    ...(server.placement === 'cluster' ? [['runs at', server.node ?? 'no node'] as const] : []),
    ['uptime', server.started_at === null ? '-' : `${uptime(server)}, since ${localTime(server.started_at)}`],
    ['requests', requestText({ ...server, total: server.requests })],
    ['in flight', `${server.in_flight}, ${server.waiting} waiting`],
    ['latency', `p50 ${latency(p50)}, p95 ${latency(p95)}, p99 ${latency(p99)}`],
    ['restarts', String(server.restarts)],
    ['last used', optionalTime(server.last_used_at, 'never')],
    ['eras', server.eras.join(', ') || 'not known yet'],
    ['tools', toolCount(server)],
    ...cutEntries(server),
    ...invalidEntries(server),
    ['last error', last_error === null ? 'none' : `${last_error.code}: ${printable(last_error.message)}`],
    ...(state === 'failed'
      ? [['next try', next_retry_at === null ? retry : `${localTime(next_retry_at)}, ${retry}`] as const]
      : []),
    ['connections', String(server.connections.length)],
  ];
  const lines = entries.map(([name, text]) => `${name.padEnd(12)}  ${text}`);
  if (server.connections.length > 0) lines.push(...connectionTable(server.connections));
  return [...lines, ...stderrLines(server.stderr)];
}

/** Returns `20, 1 failed, 2 tool errors`. */
const requestText = ({ total, failed, tool_errors }: Omit<Stats['requests'], 'in_flight'>) =>
  `${total}, ${failed} failed, ${counted(tool_errors, 'tool error')}`;

/** Returns the state, or `installing` during an installation. */
export function startText(state: ServerRecord['state'], installing: ServerRecord['installing']): string {
  return installing ? 'installing' : state;
}

function installEntry({ installing }: ServerDetails): readonly (readonly [string, string])[] {
  if (!installing) return [];
  const { program, is_waiting, seconds, lines, last_line } = installing;
  if (is_waiting) return [['installing', `${program}, queued`]];
  const output = last_line === null ? '' : `: ${printable(last_line)}`;
  return [['installing', `${program}, for ${duration(seconds)}, ${counted(lines, 'line')}${output}`]];
}

/** Returns the last lines of stderr. `--json` prints all stored lines. */
function stderrLines(stderr: readonly string[]): readonly string[] {
  if (stderr.length === 0) return [];
  return ['stderr', ...stderr.slice(-STDERR_LINES).map((line) => `  ${printable(line)}`)];
}

/** Returns the number of tools. If any list of the server is known, its tools are known, too. */
function toolCount({ lists, tools }: ServerDetails): string {
  const isKnown = Object.values(lists).some((list) => list !== null);
  return isKnown ? String(tools.length) : 'not known yet';
}

/** Returns an entry per list that is too long and was cut off. */
function cutEntries({ lists }: ServerDetails): readonly (readonly [string, string])[] {
  return Object.entries(lists).flatMap(([name, list]) => {
    if (list === null || list.cut === null) return [];
    const { reason, message } = list.cut;
    return [['cut off', `${name.replace('_', ' ')} after ${list.count} (${reason}): ${message}`] as const];
  });
}

/** Returns entries about invalid items, per list: counts and descriptions. */
function invalidEntries({ lists }: ServerDetails): readonly (readonly [string, string])[] {
  return Object.entries(lists).flatMap(([name, list]) => {
    if (!list?.invalid) return [];
    const { repaired, omitted, items } = list.invalid;
    const left = repaired + omitted - items.length;
    const lines = [
      `${name.replace('_', ' ')}, in merged lists: ${repaired} repaired, ${omitted} omitted`,
      ...items.map((item) => `  ${printable(item.name)}: ${item.outcome}, ${printable(item.reason)}`),
      ...(left > 0 ? [`  and ${left} more`] : []),
    ];
    return lines.map((line, at) => [at === 0 ? 'invalid' : '', line] as const);
  });
}

function displayState({ state, is_parked, enabled, installing }: ServerDetails): string {
  if (!enabled) return 'disabled (enabled: false in the catalog)';
  return is_parked ? 'failed, parked' : startText(state, installing);
}

/** Returns when a failed server is started again. A request also starts it. */
export function retryText(nextRetryAt: string | null, now: number): string {
  const leftMs = nextRetryAt === null ? 0 : Date.parse(nextRetryAt) - now;
  return leftMs > 0 ? `in ${duration(Math.ceil(leftMs / 1000))}` : 'with the next request';
}

type ServerConnection = ServerDetails['connections'][number];

function connectionTable(connections: readonly ServerConnection[]): string[] {
  const columns: Column<ServerConnection>[] = [
    { title: 'PID', isNumber: true, text: ({ pid }) => (pid === null ? '-' : String(pid)) },
    { title: 'SESSION', text: ({ session }) => session ?? 'shared' },
    { title: 'OPEN', text: ({ is_open }) => (is_open ? 'yes' : 'no') },
    { title: 'IN FLIGHT', isNumber: true, text: ({ in_flight }) => String(in_flight) },
    { title: 'PROTOCOL', text: ({ protocol_version }) => protocol_version ?? '-' },
  ];
  return table(columns, connections).map((line) => `  ${line}`);
}

export function statsPage(stats: Stats, paint: Paint): string[] {
  const { requests, sessions, listens } = stats;
  const entries = [
    ['uptime', duration(stats.uptime_seconds)],
    ['requests', requestText(requests)],
    ['in flight', String(requests.in_flight)],
    ['sessions', `${sessions}, ${listens} listening`],
    ['servers', stateCounts(Object.values(stats.servers), paint)],
    ...automationEntries(stats, paint),
    ...limitEntries(stats, paint).map(([name, text]) => ['limit', `${name}: ${text}`] as const),
  ] as const;
  const lines = entries.map(([name, text]) => `${name.padEnd(13)}  ${text}`);
  return [...alarmLines(stats.alarms, paint), ...lines, ...profileTable(stats)];
}

function profileTable({ profiles = {} }: Stats): readonly string[] {
  const rows = Object.entries(profiles).map(([name, figures]) => ({ name, ...figures }));
  if (rows.length === 0) return [];
  const columns: Column<(typeof rows)[number]>[] = [
    { title: 'PROFILE', text: ({ name }) => name },
    { title: 'SERVERS', isNumber: true, text: ({ servers }) => String(servers.length) },
    { title: 'REQUESTS', isNumber: true, text: ({ requests }) => String(requests.total) },
    { title: 'FAILED', isNumber: true, text: ({ requests }) => String(requests.failed) },
    { title: 'TOOL ERRORS', isNumber: true, text: ({ requests }) => String(requests.tool_errors) },
    { title: 'IN FLIGHT', isNumber: true, text: ({ requests }) => String(requests.in_flight) },
    { title: 'SESSIONS', isNumber: true, text: ({ sessions }) => String(sessions) },
    { title: 'LISTENING', isNumber: true, text: ({ listens }) => String(listens) },
  ];
  return ['', ...table(columns, rows)];
}

function automationEntries(stats: Stats, paint: Paint): readonly (readonly [string, string])[] {
  const { triggers, deliveries = null } = stats;
  if (triggers === undefined) return [];
  return [
    ['triggers', triggerCounts(Object.values(triggers), paint)],
    ['deliveries', deliveryCounts(deliveries, paint)],
    ...workEntries(stats).map(([name, work]) => [name, workCounts(work)] as const),
  ];
}

type WorkStatistics = NonNullable<Stats['conversations']>;

/**
 * Returns the members of the statistics that describe a kind of work, such as `conversations`. Only these
 * have `places`, the number of their slots.
 */
function workEntries(stats: Stats): readonly (readonly [string, WorkStatistics])[] {
  const isWorkStatistics = (value: unknown): value is WorkStatistics =>
    typeof value === 'object' && value !== null && 'places' in value;
  return Object.entries(stats).flatMap(([name, value]) =>
    isWorkStatistics(value) ? [[name, value] as const] : [],
  );
}

/** Returns `4 servers: 1 failed, 2 running, 1 stopped`; problems come first. */
export function stateCounts(servers: readonly Pick<ServerStats, 'state'>[], paint: Paint): string {
  const states = ['failed', 'starting', 'running', 'idle', 'stopping', 'stopped'] as const;
  const parts = states.flatMap((state) => {
    const count = servers.filter((server) => server.state === state).length;
    if (count === 0) return [];
    const text = `${count} ${state}`;
    return [state === 'failed' ? paint('bad', text) : text];
  });
  const all = counted(servers.length, 'server');
  return parts.length === 0 ? all : `${all}: ${parts.join(', ')}`;
}

/** Returns a line such as `files is running (pid 4711)`. */
export function serverLine({ id, state, installing, pids }: ServerRecord): string {
  const processes = pids.length === 0 ? '' : ` (pid ${pids.join(', ')})`;
  return `${id} is ${startText(state, installing)}${processes}`;
}

export function reloadedPage({ triggers, ...servers }: ReloadDifference): string[] {
  if (triggers === undefined) return differenceLines(servers);
  return [
    'servers',
    ...differenceLines(servers).map(indented),
    'triggers',
    ...differenceLines(triggers).map(indented),
  ];
}

const indented = (line: string) => `  ${line}`;

function differenceLines({
  added,
  changed,
  removed,
  unchanged,
}: Omit<ReloadDifference, 'triggers'>): string[] {
  const named = (ids: readonly string[]) => (ids.length === 0 ? 'none' : ids.join(', '));
  return [
    `added      ${named(added)}`,
    `changed    ${named(changed)}`,
    `removed    ${named(removed)}`,
    `unchanged  ${unchanged.length}`,
  ];
}
