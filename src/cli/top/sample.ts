// Takes samples from the running gateway, for `top`: counters, errors of failed servers and triggers, and the
// newest waiting and dead deliveries. Rates are computed from two samples.

import { setMaxListeners } from 'node:events';
import type { DeliveryList, DeliveryRecord } from '../../http/api/delivery-shapes.ts';
import type { NodesAnswer } from '../../http/api/node-shapes.ts';
import type { ServerDetails } from '../../http/api/server-shapes.ts';
import type { Stats } from '../../http/api/stats-shapes.ts';
import type { TriggerList, TriggerRecord } from '../../http/api/trigger-shapes.ts';
import { type ApiClient, ApiProblem } from '../api/client.ts';
import { type PendingApprovals, requestApprovals } from '../api/pending-approvals.ts';
import { pathOf } from '../api/server-path.ts';

/** Why a server has failed. */
export interface ServerFailure {
  readonly isParked: boolean;
  readonly nextRetryAt: string | null;
  readonly reason: string;
}

export interface GatewaySample {
  /** Monotonic time of the sample, in milliseconds. */
  readonly at: number;
  readonly stats: Stats;
  /** Undefined if the gateway is not in a cluster, or is too old. */
  readonly nodes?: NodesAnswer | undefined;
  /** Errors of failed servers, by server id. */
  readonly troubles: ReadonlyMap<string, ServerFailure>;
  /** Newest deliveries that wait for a signal or a time. */
  readonly waiting: readonly DeliveryRecord[];
  /** Pending approvals of these deliveries. */
  readonly approvals: PendingApprovals;
  /** Newest unfinished deliveries, then newest dead deliveries. `isWhole` is false if there are more. */
  readonly backlog: { readonly deliveries: readonly DeliveryRecord[]; readonly isWhole: boolean };
  /** Triggers by name; empty unless one has a problem. */
  readonly triggers: ReadonlyMap<string, TriggerRecord>;
}

/** Maximum number of failed servers whose errors are requested. */
export const MAX_TROUBLES = 20;
const MAX_WAITING = 3;
/** Maximum number of unfinished and of dead deliveries. */
const MAX_BACKLOG = 200;

/** Takes a sample. Rejects with an ApiProblem. */
export async function takeSample(
  client: ApiClient,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<GatewaySample> {
  const stats = (await client.request('GET', 'stats', timeoutMs, { signal })).body as Stats;
  const at = performance.now();
  // Each request adds a listener to the signal, and Node warns about many listeners.
  setMaxListeners(MAX_TROUBLES + 5, signal);
  const failed = Object.entries(stats.servers).filter(([, { state }]) => state === 'failed');
  const ask = async (path: string) => (await client.request('GET', path, timeoutMs, { signal })).body;
  const [nodes, waiting, backlog, triggers, ...found] = await Promise.all([
    nodesIn(ask, stats),
    waitingIn(ask, stats),
    backlogIn(ask, stats),
    failingTriggers(ask, stats),
    ...failed.slice(0, MAX_TROUBLES).map(async ([id]) => {
      const trouble = await failureOf(client, id, timeoutMs, signal);
      return trouble === undefined ? [] : [[id, trouble] as const];
    }),
  ]);
  const approvals = await requestApprovals(waiting, { client, timeoutMs }, signal);
  return { at, stats, nodes, troubles: new Map(found.flat()), waiting, approvals, backlog, triggers };
}

type Ask = (path: string) => Promise<unknown>;

async function nodesIn(ask: Ask, { node }: Stats): Promise<NodesAnswer | undefined> {
  if (node === undefined) return undefined;
  try {
    return (await ask('nodes')) as NodesAnswer;
  } catch (error) {
    // The list requires the role admin.
    if (error instanceof ApiProblem && error.response?.status === 403) return undefined;
    throw error;
  }
}

async function waitingIn(ask: Ask, { deliveries = null }: Stats): Promise<readonly DeliveryRecord[]> {
  if (deliveries === null || deliveries.waiting === 0) return [];
  return ((await ask(`deliveries?state=waiting&limit=${MAX_WAITING}`)) as DeliveryList).deliveries;
}

async function backlogIn(ask: Ask, { deliveries = null }: Stats): Promise<GatewaySample['backlog']> {
  if (deliveries === null) return { deliveries: [], isWhole: true };
  const { dead, ...unfinished } = deliveries;
  const list = async (count: number, states: readonly string[]): Promise<DeliveryList> => {
    if (count === 0) return { deliveries: [], next_before: null };
    return (await ask(`deliveries?state=${states.join(',')}&limit=${MAX_BACKLOG}`)) as DeliveryList;
  };
  const count = Object.values(unfinished).reduce((sum, each) => sum + each, 0);
  const lists = await Promise.all([list(count, Object.keys(unfinished)), list(dead, ['dead'])]);
  return {
    deliveries: lists.flatMap((each) => each.deliveries),
    isWhole: lists.every((each) => each.deliveries.length < MAX_BACKLOG),
  };
}

async function failingTriggers(ask: Ask, { triggers = {} }: Stats): Promise<GatewaySample['triggers']> {
  const hasProblem = Object.values(triggers).some(
    ({ state, connection, circuit }) =>
      state === 'failed' || circuit !== null || (connection !== null && connection !== 'connected'),
  );
  if (!hasProblem) return new Map();
  const list = (await ask('triggers')) as TriggerList;
  return new Map(list.triggers.map((trigger) => [trigger.name, trigger]));
}

/** Returns the server's error; undefined if it has recovered or was removed. */
async function failureOf(
  client: ApiClient,
  id: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ServerFailure | undefined> {
  try {
    const { body } = await client.request('GET', pathOf(id), timeoutMs, { signal });
    const { state, is_parked, next_retry_at, last_error } = body as ServerDetails;
    if (state !== 'failed') return undefined;
    return {
      isParked: is_parked,
      nextRetryAt: next_retry_at,
      reason: last_error?.message ?? 'unknown reason',
    };
  } catch (error) {
    if (error instanceof ApiProblem && error.response?.status === 404) return undefined;
    throw error;
  }
}

/** Returns requests per second between two samples; undefined if the counter was reset. */
export function ratePerSecond(
  now: { readonly at: number; readonly count: number },
  before: { readonly at: number; readonly count: number } | undefined,
): number | undefined {
  if (before === undefined || now.at <= before.at || now.count < before.count) return undefined;
  return ((now.count - before.count) * 1000) / (now.at - before.at);
}
