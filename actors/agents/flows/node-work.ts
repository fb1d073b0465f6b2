// What a node of a flow does, by its type: worked out from its templates, done, and given as its output. What comes of it in the flow is the
// affair of flow-run.ts.

import type { AskingWork, NodeWork } from '../../../config/resources/flows/flow.ts';
import { HandlerError } from '../handlers/handler.ts';
import { isParked, type Parked } from '../handlers/parked.ts';
import { askPeople } from './approval-node.ts';
import { request } from './http-node.ts';
import { type NodeHost, type NodeReply, textIn, valueIn } from './node-host.ts';
import { callTool } from './tool-node.ts';

type Work<T extends NodeWork['type']> = (
  work: Extract<NodeWork, { readonly type: T }>,
  host: NodeHost,
) => Promise<NodeReply | Parked>;

const works: { readonly [T in Exclude<NodeWork['type'], 'Loop'>]: Work<T> } = {
  Agent: asked,
  Fleet: asked,
  Tool: callTool,
  HTTP: request,
  Approval: askPeople,
  // Where it has no channel the run says it, or makes it the answer.
  Response: async ({ text, channel }, { values, said }) => {
    const words = textIn(text, values);
    if (channel === undefined) return { output: { text: words } };
    return { output: { text: words }, effects: { emit: await said(words, textIn(channel, values)) } };
  },
  Conditional: async () => ({ output: {} }),
  Parallel: async () => ({ output: {} }),
  Join: async () => ({ output: {} }),
  Wait: async ({ for: what, value }, { values, hasWaited }) => {
    if (hasWaited) return { output: {} };
    const wakeInMs = waitMs(what, valueIn(value, values));
    return wakeInMs === 0 ? { output: {} } : { parkedOn: 'a time', wakeInMs };
  },
  Transform: async ({ set }, { values }) => ({
    output: Object.fromEntries(Object.entries(set).map(([name, value]) => [name, valueIn(value, values)])),
  }),
  End: async ({ output }, { values }) => ({ output: output === undefined ? null : valueIn(output, values) }),
};

/** One attempt at what a node does. Rejects with a HandlerError, which is final where trying again cannot help. */
export function workOf(host: NodeHost): Promise<NodeReply | Parked> {
  const { work } = host.node;
  if (work.type === 'Loop') return Promise.reject(new TypeError('a loop is carried out by its turns'));
  return (works[work.type] as Work<typeof work.type>)(work as never, host);
}

async function asked(
  work: AskingWork,
  { job, context, values, key, handlerOf }: NodeHost,
): Promise<NodeReply | Parked> {
  const asked = work.type === 'Agent' ? work.agent : work.fleet;
  const name = typeof asked === 'string' ? asked : asked.name;
  const handler = handlerOf(work);
  if (handler === undefined)
    throw new HandlerError(`there is no ${work.type.toLowerCase()} ${name}`, { isFinal: true });
  const { input } = work;
  const text = textIn(input, values);
  // What it is asked stands in its input, and not in what was said before.
  const of = {
    ...{ input: text, inputJson: undefined, command: undefined, agent: name, idempotencyKey: key },
    history: [],
  };
  const reply = await handler.run({ ...job, ...of }, context);
  if (isParked(reply)) return reply;
  const { text: said, data, effects } = reply;
  return { output: { text: said, data: data ?? null }, effects };
}

const LONGEST_WAIT_MS = 366 * 86_400_000;

function waitMs(what: 'seconds' | 'until', value: unknown): number {
  const ms =
    what === 'seconds'
      ? Number(value) * 1000
      : Date.parse(typeof value === 'string' ? value : '') - Date.now();
  if (!Number.isFinite(ms) || typeof value === 'boolean' || value === null)
    throw new HandlerError(`it cannot wait ${what === 'until' ? 'until' : 'for'} ${JSON.stringify(value)}`, {
      isFinal: true,
    });
  return Math.min(LONGEST_WAIT_MS, Math.max(0, ms));
}
