// One look at a running gateway: its counters, of the servers and triggers that are not well why and until when, the newest
// deliveries that wait or are dead, and of those that are parked for what. What two looks tell together are rates.

import { setMaxListeners } from 'node:events';
import type { DeliveryList, DeliveryRecord } from '../../http/api/delivery-shapes.ts';
import type { NodesAnswer } from '../../http/api/node-shapes.ts';
import type { ServerDetails } from '../../http/api/server-shapes.ts';
import type { Stats } from '../../http/api/stats-shapes.ts';
import type { TriggerList, TriggerRecord } from '../../http/api/trigger-shapes.ts';
import { type ApiClient, ApiProblem } from '../api/api-client.ts';
import { pathOf } from '../api/server-path.ts';

/** Of a server in the state `failed`. */
export interface Trouble {
  readonly isParked: boolean;
  readonly nextRetryAt: string | null;
  readonly reason: string;
}

export interface Sample {
  /** When it was taken, in milliseconds of a clock that never jumps. */
  readonly at: number;
  readonly stats: Stats;
  /** Undefined where the gateway shares its store with nobody, or is of a version that does not tell. */
  readonly nodes?: NodesAnswer | undefined;
  readonly troubles: ReadonlyMap<string, Trouble>;
  /** The newest of those that are parked. */
  readonly waiting: readonly DeliveryRecord[];
  /** The newest of those that have not ended, then of those that are dead. */
  readonly backlog: { readonly deliveries: readonly DeliveryRecord[]; readonly isWhole: boolean };
  /** By name, where one of them is not well: else there is nothing to know but what the counters say. */
  readonly triggers: ReadonlyMap<string, TriggerRecord>;
}

/** A catalog full of failed servers is not asked for one by one: the first are enough for a window. */
export const MAX_TROUBLES = 20;
const MAX_WAITING = 3;
/** Of those that have not ended, and of those that are dead: enough to see whose they are. */
const MAX_BACKLOG = 200;

/** Rejects with an ApiProblem. */
export async function takeSample(client: ApiClient, timeoutMs: number, signal: AbortSignal): Promise<Sample> {
  const stats = (await client.ask('GET', 'stats', timeoutMs, { signal })).body as Stats;
  const at = performance.now();
  // Each question listens to the signal while it is out.
  setMaxListeners(MAX_TROUBLES + 5, signal);
  const failed = Object.entries(stats.servers).filter(([, { state }]) => state === 'failed');
  const ask = async (path: string) => (await client.ask('GET', path, timeoutMs, { signal })).body;
  const [nodes, waiting, backlog, triggers, ...found] = await Promise.all([
    nodesIn(ask, stats),
    waitingIn(ask, stats),
    backlogIn(ask, stats),
    unwellIn(ask, stats),
    ...failed.slice(0, MAX_TROUBLES).map(async ([id]) => {
      const trouble = await troubleOf(client, id, timeoutMs, signal);
      return trouble === undefined ? [] : [[id, trouble] as const];
    }),
  ]);
  return { at, stats, nodes, troubles: new Map(found.flat()), waiting, backlog, triggers };
}

type Ask = (path: string) => Promise<unknown>;

async function nodesIn(ask: Ask, { node }: Stats): Promise<NodesAnswer | undefined> {
  return node === undefined ? undefined : ((await ask('nodes')) as NodesAnswer);
}

async function waitingIn(ask: Ask, { deliveries = null }: Stats): Promise<readonly DeliveryRecord[]> {
  if (deliveries === null || deliveries.waiting === 0) return [];
  return ((await ask(`deliveries?state=waiting&limit=${MAX_WAITING}`)) as DeliveryList).deliveries;
}

async function backlogIn(ask: Ask, { deliveries = null }: Stats): Promise<Sample['backlog']> {
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

async function unwellIn(ask: Ask, { triggers = {} }: Stats): Promise<Sample['triggers']> {
  const isUnwell = Object.values(triggers).some(
    ({ state, connection, circuit }) =>
      state === 'failed' || circuit !== null || (connection !== null && connection !== 'connected'),
  );
  if (!isUnwell) return new Map();
  const list = (await ask('triggers')) as TriggerList;
  return new Map(list.triggers.map((trigger) => [trigger.name, trigger]));
}

/** Undefined for a server that has left the state, or the catalog, meanwhile. */
async function troubleOf(
  client: ApiClient,
  id: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Trouble | undefined> {
  try {
    const { body } = await client.ask('GET', pathOf(id), timeoutMs, { signal });
    const { state, is_parked, next_retry_at, last_error } = body as ServerDetails;
    if (state !== 'failed') return undefined;
    return {
      isParked: is_parked,
      nextRetryAt: next_retry_at,
      reason: last_error?.message ?? 'unknown reason',
    };
  } catch (error) {
    if (error instanceof ApiProblem && error.answer?.status === 404) return undefined;
    throw error;
  }
}

/** Requests per second between two samples; undefined where they do not belong together, as after a restart. */
export function ratePerSecond(
  now: { readonly at: number; readonly count: number },
  before: { readonly at: number; readonly count: number } | undefined,
): number | undefined {
  if (before === undefined || now.at <= before.at || now.count < before.count) return undefined;
  return ((now.count - before.count) * 1000) / (now.at - before.at);
}
