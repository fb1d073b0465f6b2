// What the page asks the gateway beside the feed: machines, one server in detail, dead letters, and the commands.

import type { ApprovalList } from '../../../http/api/approval-shapes.ts';
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
import type { MachineDefinition, SessionList, SessionPlace } from '../../wire/feed-wire.ts';
import type { ConnectFacts } from '../../wire/tool-wire.ts';

export interface DeadLetter {
  readonly type: string;
  readonly target: string;
}

/** API for this page (IN3). */
const API = '/inspector/api';
/** For what the gateway answers at once; a command takes as long as the server does. */
const DEADLINE_MS = 10_000;

export async function machines(): Promise<readonly MachineDefinition[]> {
  return (await get<{ machines: MachineDefinition[] }>('/inspector/machines')).machines;
}

export function server(id: string): Promise<ServerDetails> {
  return records(`servers/${encodeURIComponent(id)}`);
}

/** `count` sessions from the `from`th that matches. */
export function sessionList(from: number, count: number, filter: string): Promise<SessionList> {
  return get(`/inspector/sessions?${new URLSearchParams({ from: `${from}`, count: `${count}`, filter })}`);
}

/** Rejects when it has ended. */
export function sessionPlace(number: number, filter: string): Promise<SessionPlace> {
  return get(`/inspector/sessions/${number}?${new URLSearchParams({ filter })}`);
}

export async function deadLetters(): Promise<readonly DeadLetter[]> {
  return (await get<{ recent: DeadLetter[] }>('/inspector/dead-letters')).recent;
}

/** By the parameters of GET /deliveries. */
export function deliveries(asked: Query): Promise<DeliveryList> {
  return records('deliveries', asked);
}

/** Rejects with the gateway's message for an unknown id. */
export function delivery(id: string): Promise<DeliveryDetails> {
  return records(deliveryPath(id));
}

export const deliveryPath = (id: string) => `deliveries/${encodeURIComponent(id)}`;

export interface RunsAsked {
  /** '' for all, as `agent`. */
  readonly state: string;
  /** The kind and the name of an agent, a fleet or a flow, with a space between. */
  readonly whom: string;
  readonly limit: number;
}

/** The newest runs. */
export function runs({ state, whom, limit }: RunsAsked): Promise<RunList> {
  const [, kind = '', name = ''] = /^(\w+) (.+)$/s.exec(whom) ?? [];
  const asked: [name: string, value: string][] = [
    ['state', state],
    [kind, name],
  ];
  const given = asked.filter(([, value]) => value !== '');
  return records('runs', [...given, ['limit', `${limit}`]]);
}

/** Returns the run without steps. Rejects with the gateway's message for an unknown id. */
export function run(id: string): Promise<RunDetails> {
  return records(runPath(id), { after: '999999' });
}

export const runPath = (id: string) => `runs/${encodeURIComponent(id)}`;

interface ApprovalsAsked {
  readonly limit: number;
  readonly run?: string;
}

export function pendingApprovals({ limit, ...of }: ApprovalsAsked): Promise<ApprovalList> {
  return records('approvals', { ...of, state: 'pending', limit: `${limit}` });
}

export function decidedApprovals({ limit, ...of }: ApprovalsAsked): Promise<ApprovalList> {
  return records('approvals', { ...of, state: 'approved,denied,expired,cancelled', limit: `${limit}` });
}

/** Rejects where it is not loaded. */
export function flow(name: string): Promise<Loaded<FlowDetails>> {
  return records(`flows/${encodeURIComponent(name)}`);
}

export interface Targets {
  readonly agents: readonly LoadedAgent[];
  readonly fleets: readonly Loaded<FleetRecord>[];
  readonly flows: readonly Loaded<FlowRecord>[];
}

export async function targets(): Promise<Targets> {
  const lists = ['agents', 'fleets', 'flows'].map((noun) => records<Partial<Targets>>(noun));
  return Object.assign({}, ...(await Promise.all(lists))) as Targets;
}

export function connectFacts(): Promise<ConnectFacts> {
  return get('/inspector/connect');
}

/** Rejects with the gateway's own words. */
export async function command(path: string, body?: object): Promise<void> {
  const content = body && {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  await answered(await fetch(`${API}/${path}`, { method: 'POST', ...content }));
}

type Query = URLSearchParams | Readonly<Record<string, string>> | readonly (readonly [string, string])[];

/** Requests records; here the gateway answers in the brief view. */
function records<T>(path: string, query: Query = {}): Promise<T> {
  return get(`${API}/${path}?${new URLSearchParams(query as URLSearchParams)}`);
}

/** What is at a path. Rejects with the gateway's own words. */
export async function get<T>(path: string): Promise<T> {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  return (await answered(await fetch(path, { cache: 'no-store', signal }))) as T;
}

/** The body of an answer. Rejects with the gateway's own words. */
export async function answered(answer: Response): Promise<unknown> {
  const body: unknown = await answer.json().catch(() => undefined);
  if (answer.ok) return body;
  const { message, problems } = (body ?? {}) as { message?: string; problems?: readonly string[] };
  throw new Error([message ?? `the gateway answered ${answer.status}`, ...(problems ?? [])].join('\n'));
}
