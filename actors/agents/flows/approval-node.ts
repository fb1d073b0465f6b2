// A node that asks people: it waits until they have decided, or nobody has in time. All three are an answer, and none a failure.

import type { NodeWork } from '../../../config/resources/flows/flow.ts';
import { isExactly } from '../approvals/approval-record.ts';
import { approvalWake } from '../approvals/run-approvals.ts';
import { HandlerError } from '../handlers/handler.ts';
import type { Parked } from '../handlers/parked.ts';
import { type NodeHost, type NodeReply, textIn } from './node-host.ts';

type Approval = Extract<NodeWork, { readonly type: 'Approval' }>;

/** The node is waiting for this one: the id, which it keeps. */
export async function askPeople({ message, rules }: Approval, host: NodeHost): Promise<NodeReply | Parked> {
  const { context, job, values } = host;
  const { approvals, state: asked } = context;
  if (approvals === undefined) throw new HandlerError('nobody can be asked here', { isFinal: true });
  const parkedOn = approvalWake(job.event.id);
  const title = textIn(message, values);
  const request = { kind: 'node', node: { flow: host.flow, id: host.node.id, message: title } } as const;
  const found = asked === undefined ? undefined : await approvals.outcome(asked);
  // What is not exactly what was asked about is asked anew (R6).
  const outcome = found !== undefined && isExactly(found, request) ? found : undefined;
  if (outcome?.state === 'pending')
    return { parkedOn, wakeInMs: outcome.expiresInMs, note: 'it waits for an approval' };
  if (outcome !== undefined && outcome.state !== 'cancelled') {
    const { state: decision, by, comment } = outcome;
    return { output: { decision, by: by ?? null, comment: comment ?? null } };
  }
  // One that was never durable was asked of nobody.
  const { id, effects, expiresInMs } = await approvals.ask({ ...request, title, who: rules });
  return { parkedOn, wakeInMs: expiresInMs, state: id, effects, note: 'it waits for an approval' };
}
