// Tool node: calls one tool of the catalog. An interrupted call is repeated with the same key only if the
// server declares the tool safe to repeat, or the node allows it (`interrupted_calls`). Otherwise the outcome
// is unknown, and the node fails.

import type { NodeWork } from '../../../config/resources/flows/flow.ts';
import { DeadlineError, GatewayError } from '../../base/errors/errors.ts';
import { isCut } from '../../mcp/clients/cut-result.ts';
import { RpcFault } from '../../mcp/jsonrpc/rpc-fault.ts';
import { HandlerError } from '../handlers/handler.ts';
import { convertResult, MAX_RESULT_BYTES } from '../model-agent/tool-result.ts';
import { type NodeHost, type NodeResult, valueIn } from './node-host.ts';

type ToolWork = Extract<NodeWork, { readonly type: 'Tool' }>;

/** Node state that is stored before the call. A later attempt detects the interrupted call by it. */
const STATE_CALLED = 'called';

/** Rejects with a HandlerError, which is not final if the call was certainly not sent. */
export async function callTool(work: ToolWork, host: NodeHost): Promise<NodeResult> {
  const { server, tool, timeout_seconds } = work;
  const { key, context, job } = host;
  const args = valueIn(work.arguments, host) as Readonly<Record<string, unknown>>;
  const name = `${server}/${tool}`;
  if (context.state === STATE_CALLED && !(await isRepeatable(work, host)))
    throw new HandlerError(
      `the call of ${name} was interrupted: it may have happened, and interrupted_calls is fail`,
      { isFinal: true },
    );
  if (context.state !== STATE_CALLED) await context.checkpoint(STATE_CALLED);
  try {
    const timeoutMs = Math.min(timeout_seconds * 1000, context.remainingMs);
    const result = await context.tools.callTool(tool, args, {
      server,
      key,
      timeoutMs,
      maxResultBytes: MAX_RESULT_BYTES,
      signal: context.signal,
      trace: job.trace,
      sender: `flow:${host.flow}`,
    });
    // Without its data, the next nodes would compute wrong values.
    if (isCut(result))
      throw new HandlerError(
        `${name} returned ${result.size} bytes, ${result.reason}; the call has happened`,
        { isFinal: true },
      );
    const { text, isError } = convertResult(result);
    return { output: { text, data: result.structuredContent ?? null, is_error: isError } };
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof RpcFault) throw new HandlerError(`${name}: ${error.message}`, { isFinal: true });
    if (!(error instanceof GatewayError)) throw error;
    if (error.isUnsent) {
      await context.checkpoint(null);
      throw new HandlerError(`${name}: ${error.message}`);
    }
    const why = error instanceof DeadlineError ? 'no answer in time' : error.message;
    throw new HandlerError(`${name}: ${why}; the call may have happened`, { isFinal: true });
  }
}

/** Returns true if the node or the server's tool annotations allow a repetition. */
async function isRepeatable(
  { server, tool, interrupted_calls }: ToolWork,
  { flow, context: { tools, signal } }: NodeHost,
): Promise<boolean> {
  if (interrupted_calls === 'repeat') return true;
  const serverTools = await tools.listTools({ server, signal, sender: `flow:${flow}` });
  const { annotations } = (serverTools.find(({ name }) => name === tool) ?? {}) as {
    readonly annotations?: { readonly readOnlyHint?: unknown; readonly idempotentHint?: unknown };
  };
  return annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
}
