// A node that calls one tool of the catalog. A call that was begun and has no answer is made again, under the same key, only where the server
// says that this does no harm, or the node does (`interrupted_calls`); else nobody knows, and the node has failed (R2).

import type { NodeWork } from '../../../config/resources/flows/flow.ts';
import { DeadlineError, GatewayError } from '../../base/errors/errors.ts';
import { RpcFault } from '../../mcp/jsonrpc/rpc-fault.ts';
import { HandlerError } from '../handlers/handler.ts';
import { toolAnswer } from '../model-agent/tool-answer.ts';
import { type NodeHost, type NodeReply, valueIn } from './node-host.ts';

type Tool = Extract<NodeWork, { readonly type: 'Tool' }>;

/** Kept before the call: from here on it may have happened. */
const CALLED = 'called';

/** Rejects with a HandlerError; one that was certainly not made may be made again. */
export async function callTool(work: Tool, { values, key, context, job }: NodeHost): Promise<NodeReply> {
  const { server, tool, timeout_seconds } = work;
  const args = valueIn(work.arguments, values) as Readonly<Record<string, unknown>>;
  const name = `${server}/${tool}`;
  if (context.state === CALLED && !(await isRepeatable(work, context)))
    throw new HandlerError(
      `the call of ${name} was begun and has no answer: it may have happened, and interrupted_calls is fail`,
      { isFinal: true },
    );
  if (context.state !== CALLED) await context.checkpoint(CALLED);
  try {
    const timeoutMs = Math.min(timeout_seconds * 1000, context.leftMs);
    const result = await context.tools.callTool(tool, args, {
      server,
      key,
      timeoutMs,
      signal: context.signal,
      trace: job.trace,
    });
    const { text, isError } = toolAnswer(result);
    return { output: { text, data: result.structuredContent ?? null, is_error: isError } };
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof RpcFault) throw new HandlerError(`${name}: ${error.message}`, { isFinal: true });
    if (!(error instanceof GatewayError)) throw error;
    if (error.isUnsent) {
      await context.checkpoint(null);
      throw new HandlerError(`${name}: ${error.message}`);
    }
    const why = error instanceof DeadlineError ? 'there was no answer in time' : error.message;
    throw new HandlerError(`${name}: ${why}; the call may have happened`, { isFinal: true });
  }
}

/** By the node, or what the server says of the tool. */
async function isRepeatable(
  { server, tool, interrupted_calls }: Tool,
  { tools, signal }: NodeHost['context'],
): Promise<boolean> {
  if (interrupted_calls === 'repeat') return true;
  const listed = await tools.listTools({ server, signal });
  const { annotations } = (listed.find(({ name }) => name === tool) ?? {}) as {
    readonly annotations?: { readonly readOnlyHint?: unknown; readonly idempotentHint?: unknown };
  };
  return annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
}
