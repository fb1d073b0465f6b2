// Counts dead deliveries by trigger, with the newest delivery of each.

import type { DeliveryList, DeliveryRecord } from '../../http/api/delivery-shapes.ts';
import { type ApiClient, ApiProblem } from './client.ts';

/** Maximum number of dead deliveries in a request. */
const MAX_DEAD = 500;

interface DeadDeliveries {
  readonly count: number;
  readonly newest: DeliveryRecord;
}

export interface DeadLettersByTrigger {
  readonly byTrigger: ReadonlyMap<string, DeadDeliveries>;
  /** False if the response is incomplete: the counts are minimums. */
  readonly isWhole: boolean;
}

/** Returns the dead letters of all triggers, or of one. Returns undefined if the store does not respond. */
export async function requestDeadLetters(
  client: ApiClient,
  timeoutMs: number,
  trigger?: string,
): Promise<DeadLettersByTrigger | undefined> {
  const query = new URLSearchParams({ state: 'dead', limit: `${MAX_DEAD}` });
  if (trigger !== undefined) query.set('trigger', trigger);
  try {
    const { body } = await client.request('GET', `deliveries?${query}`, timeoutMs);
    const { deliveries, next_before } = body as DeliveryList;
    const byTrigger = new Map<string, DeadDeliveries>();
    // The list has the newest deliveries first.
    for (const delivery of deliveries) {
      const name = delivery.trigger ?? '';
      const { count, newest } = byTrigger.get(name) ?? { count: 0, newest: delivery };
      byTrigger.set(name, { count: count + 1, newest });
    }
    return { byTrigger, isWhole: next_before === null };
  } catch (error) {
    if (error instanceof ApiProblem) return undefined;
    throw error;
  }
}

/** Returns the number of dead letters: `3`, `500+` or `?`. */
export function deadCount(trigger: string, letters: DeadLettersByTrigger | undefined): string {
  if (letters === undefined) return '?';
  const { count = 0 } = letters.byTrigger.get(trigger) ?? {};
  return `${count}${letters.isWhole ? '' : '+'}`;
}
