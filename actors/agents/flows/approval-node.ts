// A node that requests an approval and parks. Denial and expiry are outputs, not failures.

import type { NodeWork } from '../../../config/resources/flows/flow.ts';
import { isExactly } from '../approvals/record.ts';
import { approvalWake } from '../approvals/run-approvals.ts';
import { HandlerError } from '../handlers/handler.ts';
import type { Parked } from '../handlers/parked.ts';
import { type NodeHost, type NodeResult, textIn } from './node-host.ts';

type Approval = Extract<NodeWork, { readonly type: 'Approval' }>;

/** Runs an Approval node. The state of the node is its approval id. */
export async function requestApproval(
  { message, rules }: Approval,
  host: NodeHost,
): Promise<NodeResult | Parked> {
  const { context, job } = host;
  const { approvals, state: approvalId } = context;
  if (approvals === undefined) throw new HandlerError('approvals are not available here', { isFinal: true });
  const parkedOn = approvalWake(job.event.id);
  const title = textIn(message, host);
  const request = { kind: 'node', node: { flow: host.flow, id: host.node.id, message: title } } as const;
  const stored = approvalId === undefined ? undefined : await approvals.outcome(approvalId);
  // A changed request needs a new approval.
  const outcome = stored !== undefined && isExactly(stored, request) ? stored : undefined;
  if (outcome?.state === 'pending')
    return { parkedOn, wakeInMs: outcome.expiresInMs, note: 'waits for an approval' };
  if (outcome !== undefined && outcome.state !== 'cancelled') {
    const { state: decision, by, comment } = outcome;
    return { output: { decision, by: by ?? null, comment: comment ?? null } };
  }
  // There is no approval yet, it was never committed, or it is for a different request.
  const { id, effects, expiresInMs } = await approvals.ask({ ...request, title, rules });
  return { parkedOn, wakeInMs: expiresInMs, state: id, effects, note: 'waits for an approval' };
}
