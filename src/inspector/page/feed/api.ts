// HTTP requests from the page to the gateway: records, state machines, sessions, dead letters (events that no
// actor received) and commands. The event stream is in connection.ts.

import type { ApprovalList } from '../../../http/api/approval-shapes.ts';
import type { AuditList } from '../../../http/api/audit-shapes.ts';
import type { CallList } from '../../../http/api/call-shapes.ts';
import type { DeliveryDetails, DeliveryList } from '../../../http/api/delivery-shapes.ts';
import type { RunDetails, RunList } from '../../../http/api/run-shapes.ts';
import type { ServerDetails } from '../../../http/api/server-shapes.ts';
import type {
  FleetRecord,
  FlowDetails,
  FlowRecord,
  Loaded,
  LoadedAgent,
} from '../../../http/api/target-shapes.ts';
import type { MachineDefinition, SessionList, SessionPosition } from '../../wire/feed.ts';
import type { ConnectFacts } from '../../wire/tools.ts';
import { HOME } from '../home.ts';

export interface DeadLetterRow {
  readonly type: string;
  readonly target: string;
}

const API = `${HOME}/api`;
/** Timeout of reads. Commands have no timeout, because they may start or stop a server. */
const DEADLINE_MS = 10_000;
/** Step number after the last step of any run, so that a response contains no steps. */
const AFTER_ALL_STEPS = '999999';

/** Returns the definitions of the state machines, for the charts. */
export async function fetchMachines(): Promise<readonly MachineDefinition[]> {
  return (await fetchJson<{ machines: MachineDefinition[] }>(`${HOME}/machines`)).machines;
}

export function fetchServer(id: string): Promise<ServerDetails> {
  return fetchRecords(`servers/${encodeURIComponent(id)}`);
}

/** Returns `count` sessions, from index `from` of the matching sessions. */
export function fetchSessions(from: number, count: number, filter: string): Promise<SessionList> {
  return fetchJson(`${HOME}/sessions?${new URLSearchParams({ from: `${from}`, count: `${count}`, filter })}`);
}

/** Rejects if the session does not exist. */
export function fetchSession(number: number, filter: string): Promise<SessionPosition> {
  return fetchJson(`${HOME}/sessions/${number}?${new URLSearchParams({ filter })}`);
}

export async function fetchDeadLetters(): Promise<readonly DeadLetterRow[]> {
  return (await fetchJson<{ recent: DeadLetterRow[] }>(`${HOME}/dead-letters`)).recent;
}

/** Accepts the parameters of GET /history/calls. */
export function fetchCalls(filters: QueryInput): Promise<CallList> {
  return fetchRecords('history/calls', filters);
}

/** Accepts the parameters of GET /audit. */
export function fetchAudit(filters: QueryInput): Promise<AuditList> {
  return fetchRecords('audit', filters);
}

/** Accepts the parameters of GET /deliveries. */
export function fetchDeliveries(filters: QueryInput): Promise<DeliveryList> {
  return fetchRecords('deliveries', filters);
}

/** Rejects with the gateway's message if the id is unknown. */
export function fetchDelivery(id: string): Promise<DeliveryDetails> {
  return fetchRecords(deliveryPath(id));
}

export const deliveryPath = (id: string) => `deliveries/${encodeURIComponent(id)}`;

export interface RunsQuery {
  /** State; '' for all. The same applies to `target`. */
  readonly state: string;
  /** Kind and name, separated by a space: `flow deploy`. */
  readonly target: string;
  readonly limit: number;
}

/** Returns the newest runs. */
export function fetchRuns({ state, target, limit }: RunsQuery): Promise<RunList> {
  const [, kind = '', name = ''] = /^(\w+) (.+)$/s.exec(target) ?? [];
  const filters: [name: string, value: string][] = [
    ['state', state],
    [kind, name],
  ];
  const activeFilters = filters.filter(([, value]) => value !== '');
  return fetchRecords('runs', [...activeFilters, ['limit', `${limit}`]]);
}

/** Returns the run without steps. Rejects with the gateway's message if the id is unknown. */
export function fetchRun(id: string): Promise<RunDetails> {
  return fetchRecords(runPath(id), { after: AFTER_ALL_STEPS });
}

export const runPath = (id: string) => `runs/${encodeURIComponent(id)}`;

interface ApprovalsQuery {
  readonly limit: number;
  readonly run?: string;
}

export function fetchPendingApprovals({ limit, ...runFilter }: ApprovalsQuery): Promise<ApprovalList> {
  return fetchRecords('approvals', { ...runFilter, state: 'pending', limit: `${limit}` });
}

export function fetchDecidedApprovals({ limit, ...runFilter }: ApprovalsQuery): Promise<ApprovalList> {
  const state = 'approved,denied,expired,cancelled';
  return fetchRecords('approvals', { ...runFilter, state, limit: `${limit}` });
}

/** Rejects if the flow is not loaded. */
export function fetchFlow(name: string): Promise<Loaded<FlowDetails>> {
  return fetchRecords(`flows/${encodeURIComponent(name)}`);
}

export interface Targets {
  readonly agents: readonly LoadedAgent[];
  readonly fleets: readonly Loaded<FleetRecord>[];
  readonly flows: readonly Loaded<FlowRecord>[];
}

export async function fetchTargets(): Promise<Targets> {
  const lists = ['agents', 'fleets', 'flows'].map((noun) => fetchRecords<Partial<Targets>>(noun));
  return Object.assign({}, ...(await Promise.all(lists))) as Targets;
}

export function fetchConnectFacts(): Promise<ConnectFacts> {
  return fetchJson(`${HOME}/connect`);
}

/** Rejects with the gateway's error message. */
export async function sendCommand(path: string, body?: object): Promise<void> {
  const content = body && {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  await readResponse(await fetch(`${API}/${path}`, { method: 'POST', ...content }));
}

type QueryInput = URLSearchParams | Readonly<Record<string, string>> | readonly (readonly [string, string])[];

/** Requests records of the HTTP API. For the inspector, the gateway redacts and truncates their texts. */
function fetchRecords<T>(path: string, query: QueryInput = {}): Promise<T> {
  return fetchJson(`${API}/${path}?${new URLSearchParams(query as URLSearchParams)}`);
}

/** Rejects with the gateway's error message. */
export async function fetchJson<T>(path: string): Promise<T> {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  return (await readResponse(await fetch(path, { cache: 'no-store', signal }))) as T;
}

/** Returns the response body. Rejects with the gateway's error message. */
export async function readResponse(answer: Response): Promise<unknown> {
  const body: unknown = await answer.json().catch(() => undefined);
  if (answer.ok) return body;
  const { message, problems } = (body ?? {}) as { message?: string; problems?: readonly string[] };
  throw new Error(
    [message ?? `the gateway responded with status ${answer.status}`, ...(problems ?? [])].join('\n'),
  );
}
