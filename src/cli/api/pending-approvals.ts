// Finds the pending approvals of waiting deliveries. A delivery's record contains only the run's name.

import type { ApprovalList } from '../../http/api/approval-shapes.ts';
import type { DeliveryRecord } from '../../http/api/delivery-shapes.ts';
import { type ApiClient, ApiProblem } from './client.ts';

/** Ids of pending approvals by delivery. */
export type PendingApprovals = ReadonlyMap<string, readonly string[]>;

const noApprovals: PendingApprovals = new Map();

/** Maximum number of approvals in a response. */
const MAX_APPROVALS = 200;

type Waiting = Pick<DeliveryRecord, 'id' | 'waiting_for'>;

/** Returns true for the signal of approvals. Flows use the same signal for their timers. */
export const mayHaveApprovals = ({ waiting_for }: Pick<Waiting, 'waiting_for'>): boolean =>
  waiting_for?.startsWith('approval ') === true;

/** Requests the pending approvals of these deliveries. Sends no request if no delivery can have one. */
export async function requestApprovals(
  deliveries: readonly Waiting[],
  { client, timeoutMs }: { readonly client: ApiClient; readonly timeoutMs: number },
  signal?: AbortSignal,
): Promise<PendingApprovals> {
  const [first, ...others] = deliveries.filter(mayHaveApprovals);
  if (first === undefined) return noApprovals;
  const query = new URLSearchParams({ state: 'pending', limit: `${MAX_APPROVALS}` });
  if (others.length === 0) query.set('run', first.id);
  const ids = new Map<string, string[]>();
  try {
    const { body } = await client.request('GET', `approvals?${query}`, timeoutMs, { signal });
    for (const { id, run } of (body as ApprovalList).approvals) ids.set(run, [...(ids.get(run) ?? []), id]);
  } catch (error) {
    // The list of deliveries is useful without them.
    if (!(error instanceof ApiProblem)) throw error;
  }
  return ids;
}
