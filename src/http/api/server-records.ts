// Creates the records of server-shapes.ts. Times are ISO 8601, durations are seconds.

import { cutMessages } from '../../../actors/mcp/servers/lists/bounded-list.ts';
import type { ListKind } from '../../../actors/mcp/servers/lists/lists.ts';
import type { ManagedServer } from '../../../actors/mcp/servers/managed-server.ts';
import { isoTime } from './iso-time.ts';
import type {
  InstallRecord,
  InvalidItems,
  ListRecord,
  ServerDetails,
  ServerRecord,
  ServerStats,
  ServerTrouble,
} from './server-shapes.ts';

/** Maximum number of stderr lines. A server can have many processes. */
const MAX_STDERR = 100;

/** Returns the time of the next retry. After that time the next request starts the server: undefined. */
function nextRetryAt({ nextRetryAt: at }: ManagedServer): number | undefined {
  return at !== undefined && at > Date.now() ? at : undefined;
}

function uptimeSeconds(server: ManagedServer): number {
  return server.opened?.ageSeconds ?? 0;
}

function pidsOf(server: ManagedServer): number[] {
  return [...server.pool.members].flatMap((member) => member.connection.link.pid ?? []);
}

/** For servers with a single instance in the cluster, returns the node; null if the server is not running. */
function placementOf({ entry, pool }: ManagedServer): {
  readonly placement?: 'cluster';
  readonly node?: string | null;
} {
  const { placement } = entry;
  if (placement === 'node') return {};
  const [node = null] = [...pool.members].flatMap(({ connection }) => connection.link.node ?? []);
  return { placement, node };
}

function countersOf(server: ManagedServer) {
  const { handle } = server;
  return {
    requests: handle.requests,
    failed: handle.failed,
    tool_errors: handle.toolErrors,
    in_flight: handle.inFlight,
    waiting: handle.waiting,
    restarts: server.restarts,
    uptime_seconds: uptimeSeconds(server),
  };
}

/** Returns the pending installation. */
export function installRecord({ installation }: ManagedServer): InstallRecord | null {
  if (installation === undefined) return null;
  const { installer, startedAt, seconds, lineCount, lastLine } = installation;
  return {
    program: installer.program,
    is_waiting: startedAt === undefined,
    seconds,
    lines: lineCount,
    last_line: lastLine ?? null,
  };
}

/** Returns an entry for the list of servers. */
export function serverRecord(server: ManagedServer, redact: (text: string) => string): ServerRecord {
  return {
    id: server.id,
    runtime: server.entry.runtime,
    state: server.state,
    isolation: server.entry.isolation,
    ...placementOf(server),
    enabled: server.entry.enabled,
    installing: installRecord(server),
    ...countersOf(server),
    started_at: isoTime(server.opened?.at),
    last_used_at: isoTime(server.handle.lastUsedTime || undefined),
    ...serverTrouble(server, redact),
    pids: pidsOf(server),
  };
}

/** Returns the last failure and the time of the next retry. `text` redacts and may cut a message. */
export function serverTrouble(server: ManagedServer, text: (message: string) => string): ServerTrouble {
  const { lastError, handle } = server;
  return {
    last_error: lastError === undefined ? null : { code: lastError.code, message: text(lastError.message) },
    next_retry_at: isoTime(nextRetryAt(server)),
    is_parked: handle.isParked,
  };
}

/** Returns the list's invalid items, and whether merged lists repair or omit them; null if all are valid. */
function invalidItems(
  { cache }: ManagedServer,
  kind: ListKind,
  redact: (text: string) => string,
): InvalidItems | null {
  const { repaired, omitted, first } = cache.faultsOf(kind);
  if (repaired + omitted === 0) return null;
  const items = first.map(({ name, outcome, reason }) => ({
    name: redact(name),
    outcome,
    reason: redact(reason),
  }));
  return { repaired, omitted, items };
}

/**
 * Returns a record per list: item count, reason for truncation, invalid items; null if the list is unknown.
 */
function listRecords(server: ManagedServer, redact: (text: string) => string): ServerDetails['lists'] {
  const record = (kind: ListKind): ListRecord => {
    const { lists, cuts } = server.cache;
    const cut = cuts[kind];
    if (lists[kind] === undefined) return null;
    return {
      count: lists[kind].length,
      cut: cut === undefined ? null : { reason: cut, message: cutMessages[cut] },
      invalid: invalidItems(server, kind, redact),
    };
  };
  return {
    tools: record('tools'),
    prompts: record('prompts'),
    resources: record('resources'),
    resource_templates: record('resourceTemplates'),
  };
}

/** Returns the record for `/servers/:id`. */
export function serverDetails(server: ManagedServer, redact: (text: string) => string): ServerDetails {
  return {
    ...serverRecord(server, redact),
    eras: Object.entries(server.eras.knownEras ?? {}).flatMap(([era, isSpoken]) => (isSpoken ? [era] : [])),
    tools: (server.cache.lists.tools ?? []).map((item) => item.key),
    lists: listRecords(server, redact),
    connections: [...server.pool.members].map((member) => ({
      session: member.owner?.label ?? null,
      pid: member.connection.link.pid ?? null,
      is_open: member.isOpen,
      in_flight: member.inFlight,
      protocol_version: member.connection.description?.protocolVersion ?? null,
    })),
    // Redacted again, because secrets can be newer than the lines.
    stderr: server.pool.stderrTail.slice(-MAX_STDERR).map(redact),
  };
}

/** Returns the server's entry in the statistics. */
export function serverStats(server: ManagedServer): ServerStats {
  const { handle } = server;
  return {
    state: server.state,
    installing: installRecord(server),
    ...countersOf(server),
    latency_ms: handle.latency.read(),
  };
}
