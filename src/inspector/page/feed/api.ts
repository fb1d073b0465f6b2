// What the page asks the gateway beside the feed: machines, one server in detail, dead letters, and the commands.

import type { ServerDetails } from '../../../http/api/server-shapes.ts';
import type { DeliveryAnswer, DeliveryList } from '../../wire/delivery-wire.ts';
import type {
  DeadDelivery,
  MachineDefinition,
  SessionList,
  SessionPlace,
  WaitingDelivery,
} from '../../wire/feed-wire.ts';
import type { AgentList, ApprovalList, FlowDrawing, RunDetails, RunList } from '../../wire/run-wire.ts';
import type { ConnectFacts } from '../../wire/tool-wire.ts';

export interface DeadLetter {
  readonly type: string;
  readonly target: string;
}

/** For what the gateway answers at once; a command takes as long as the server does. */
const DEADLINE_MS = 10_000;

export async function machines(): Promise<readonly MachineDefinition[]> {
  return (await get<{ machines: MachineDefinition[] }>('/inspector/machines')).machines;
}

export function server(id: string): Promise<ServerDetails> {
  return get(`/inspector/servers/${encodeURIComponent(id)}`);
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

/** Deliveries that were given up, the newest first. */
export async function deadDeliveries(): Promise<readonly DeadDelivery[]> {
  return (await get<{ recent: DeadDelivery[] }>('/inspector/dead-deliveries')).recent;
}

/** Deliveries that are parked, the newest first. */
export async function waitingDeliveries(): Promise<readonly WaitingDelivery[]> {
  return (await get<{ recent: WaitingDelivery[] }>('/inspector/waiting-deliveries')).recent;
}

/** By the parameters of GET /deliveries. */
export function deliveries(asked: URLSearchParams): Promise<DeliveryList> {
  return get(`/inspector/deliveries?${asked}`);
}

/** Rejects with the gateway's words where there is none. */
export function delivery(id: string): Promise<DeliveryAnswer> {
  return get(`/inspector/${deliveryPath(id)}`);
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
  return get(`/inspector/runs?${new URLSearchParams([...given, ['limit', `${limit}`]])}`);
}

/** Rejects with the gateway's words where it is none. */
export async function run(id: string): Promise<RunDetails> {
  return (await get<{ run: RunDetails }>(`${runPath(id)}?after=999999`)).run;
}

export const runPath = (id: string) => `/inspector/runs/${encodeURIComponent(id)}`;

/** Of those that wait, and of those that were decided. */
export function approvals({
  limit,
  run,
}: {
  readonly limit: number;
  readonly run?: string;
}): Promise<ApprovalList> {
  const of = run === undefined ? {} : { run };
  return get(`/inspector/approvals?${new URLSearchParams({ ...of, limit: `${limit}` })}`);
}

/** Rejects where it is not loaded. */
export function flow(name: string): Promise<FlowDrawing> {
  return get(`/inspector/flows/${encodeURIComponent(name)}`);
}

export function agents(): Promise<AgentList> {
  return get('/inspector/agents');
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
  await answered(await fetch(`/inspector/${path}`, { method: 'POST', ...content }));
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
