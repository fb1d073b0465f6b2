// The work of each node type: renders the templates, does the work and returns the output.

import type { HandlerWork, NodeWork } from '../../../config/resources/flows/flow.ts';
import { HandlerError } from '../handlers/handler.ts';
import { isParked, type Parked } from '../handlers/parked.ts';
import { requestApproval } from './approval-node.ts';
import { requestUrl } from './http-node.ts';
import { type NodeHost, type NodeResult, textIn, valueIn } from './node-host.ts';
import { callTool } from './tool-node.ts';

type WorkRunner<T extends NodeWork['type']> = (
  work: Extract<NodeWork, { readonly type: T }>,
  host: NodeHost,
) => Promise<NodeResult | Parked>;

const works: { readonly [T in Exclude<NodeWork['type'], 'Loop'>]: WorkRunner<T> } = {
  Agent: askHandler,
  Fleet: askHandler,
  Tool: callTool,
  HTTP: requestUrl,
  Approval: requestApproval,
  // Without a channel, the run sends the text or uses it as the answer (responses.ts).
  Response: async ({ text, channel }, host) => {
    const message = textIn(text, host);
    if (channel === undefined) return { output: { text: message } };
    return {
      output: { text: message },
      effects: { emit: await host.messageRows(message, textIn(channel, host)) },
    };
  },
  Conditional: async () => ({ output: {} }),
  Parallel: async () => ({ output: {} }),
  Join: async () => ({ output: {} }),
  Wait: async ({ for: mode, value }, host) => {
    if (host.hasWaited) return { output: {} };
    const wakeInMs = waitMs(mode, valueIn(value, host), host.context.clock.now());
    return wakeInMs === 0 ? { output: {} } : { parkedOn: 'a time', wakeInMs };
  },
  Transform: async ({ set }, host) => ({
    output: Object.fromEntries(Object.entries(set).map(([name, value]) => [name, valueIn(value, host)])),
  }),
  End: async ({ output }, host) => ({ output: output === undefined ? null : valueIn(output, host) }),
};

/** Runs one attempt at the node. Rejects with a HandlerError, which is final if a retry cannot succeed. */
export function runNode(host: NodeHost): Promise<NodeResult | Parked> {
  const { work } = host.node;
  // The engine runs the nodes of each iteration; the loop node itself has no work.
  if (work.type === 'Loop') return Promise.reject(new TypeError('a loop works through its turns'));
  return (works[work.type] as WorkRunner<typeof work.type>)(work as never, host);
}

async function askHandler(work: HandlerWork, host: NodeHost): Promise<NodeResult | Parked> {
  const { job, context, key, handlerOf } = host;
  const target = work.type === 'Agent' ? work.agent : work.fleet;
  const name = typeof target === 'string' ? target : target.name;
  const handler = handlerOf(work);
  if (handler === undefined)
    throw new HandlerError(`there is no ${work.type.toLowerCase()} ${name}`, { isFinal: true });
  const { input } = work;
  const text = textIn(input, host);
  // A node gets only its input, which the flow wrote, not the message or the history of the conversation.
  const nodeJob = {
    ...job,
    input: text,
    inputJson: undefined,
    command: undefined,
    message: undefined,
    agent: name,
    idempotencyKey: key,
    history: [],
  };
  const reply = await handler.run(nodeJob, context);
  if (isParked(reply)) return reply;
  const { text: answer, data, effects } = reply;
  return { output: { text: answer, data: data ?? null }, effects };
}

const LONGEST_WAIT_MS = 366 * 86_400_000;

/** Returns how long to wait: a number of seconds, or until a point in time. `now` is epoch milliseconds. */
function waitMs(mode: 'seconds' | 'until', value: unknown, now: number): number {
  const ms =
    mode === 'seconds' ? Number(value) * 1000 : Date.parse(typeof value === 'string' ? value : '') - now;
  if (!Number.isFinite(ms) || typeof value === 'boolean' || value === null)
    throw new HandlerError(`cannot wait ${mode === 'until' ? 'until' : 'for'} ${JSON.stringify(value)}`, {
      isFinal: true,
    });
  return Math.min(LONGEST_WAIT_MS, Math.max(0, ms));
}
