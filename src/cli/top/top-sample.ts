// One look at a running gateway: its counters, of the servers that have failed why and until when, and of deliveries that
// are parked for what. What two looks tell together are rates.

import { setMaxListeners } from 'node:events';
import { type ApiClient, ApiProblem } from '../api/api-client.ts';
import type { DeliveryList, DeliveryRecord, ServerDetails, Stats } from '../api/api-responses.ts';
import { pathOf } from '../api/api-responses.ts';

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
  readonly troubles: ReadonlyMap<string, Trouble>;
  /** The newest of those that are parked. */
  readonly waiting: readonly DeliveryRecord[];
}

/** A catalog full of failed servers is not asked for one by one: the first are enough for a window. */
export const MAX_TROUBLES = 20;
const MAX_WAITING = 3;

/** Rejects with an ApiProblem. */
export async function takeSample(client: ApiClient, timeoutMs: number, signal: AbortSignal): Promise<Sample> {
  const stats = (await client.ask('GET', 'stats', timeoutMs, { signal })).body as Stats;
  const at = performance.now();
  // Each question listens to the signal while it is out.
  setMaxListeners(MAX_TROUBLES + 2, signal);
  const failed = Object.entries(stats.servers).filter(([, { state }]) => state === 'failed');
  const [waiting, ...found] = await Promise.all([
    waitingIn(client, stats, timeoutMs, signal),
    ...failed.slice(0, MAX_TROUBLES).map(async ([id]) => {
      const trouble = await troubleOf(client, id, timeoutMs, signal);
      return trouble === undefined ? [] : [[id, trouble] as const];
    }),
  ]);
  return { at, stats, troubles: new Map(found.flat()), waiting };
}

async function waitingIn(
  client: ApiClient,
  { deliveries = null }: Stats,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly DeliveryRecord[]> {
  if (deliveries === null || deliveries.waiting === 0) return [];
  const path = `deliveries?state=waiting&limit=${MAX_WAITING}`;
  return ((await client.ask('GET', path, timeoutMs, { signal })).body as DeliveryList).deliveries;
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
