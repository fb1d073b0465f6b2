// How a run begins: with the definition of its agent, what it is asked, and the tools that there are, each with its name towards the
// model and the verdict of the policy. All of that stands in its first row, and nothing changes it afterwards (R4).

import { randomBytes } from 'node:crypto';
import type { ModelRuntime } from '../../../config/resources/agents/model-runtime.ts';
import type { JournaledTool, JournalRow } from '../../../machines/agent-run/journal.ts';
import { GatewayError } from '../../base/errors/errors.ts';
import { RpcFault } from '../../mcp/jsonrpc/rpc-fault.ts';
import { HandlerError, type Job } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import { messagesFor } from './run-input.ts';
import type { AllTools, FoundTool } from './tool-box.ts';
import { toolNames } from './tool-names.ts';
import { policyOf } from './tool-policy.ts';

const NONCE_BYTES = 9;
/** What it waits for is told before the time of the attempt ends it without a word. */
const OF_THE_TIME = 0.9;

interface Beginning {
  readonly job: Job;
  readonly runtime: ModelRuntime;
  readonly tools: AllTools;
  readonly context: Pick<HandlerContext, 'runTools'>;
  readonly onTools?: (found: readonly FoundTool[]) => void;
}

/** The first row, within the time that is left. Rejects with a HandlerError while its tools cannot be listed. */
export async function begunRow(
  { job, runtime, tools, context, onTools }: Beginning,
  signal: AbortSignal,
  leftMs: number,
): Promise<JournalRow> {
  const offered =
    runtime.servers.length === 0 ? undefined : await found(job, tools, signal, leftMs * OF_THE_TIME);
  if (offered !== undefined) onTools?.(offered);
  const all = [...(offered ?? []), ...(context.runTools?.list() ?? [])];
  return {
    kind: 'begun',
    agent: job.agent,
    nonce: randomBytes(NONCE_BYTES).toString('base64url'),
    definition: runtime.definition,
    messages: messagesFor(job, runtime.memory),
    tools: journaled(all, runtime),
  };
}

async function found(
  { agent }: Job,
  tools: AllTools,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<readonly FoundTool[]> {
  try {
    return await tools.list(signal, timeoutMs);
  } catch (error) {
    if (signal.aborted || !(error instanceof GatewayError || error instanceof RpcFault)) throw error;
    const isFinal = error instanceof GatewayError && error.code === 'ERR_TOO_MANY_TOOLS';
    const seconds = error instanceof GatewayError ? error.retryAfterSeconds : undefined;
    throw new HandlerError(`agent ${agent} cannot list its tools: ${error.message}`, {
      isFinal,
      retryAfterMs: seconds && seconds * 1000,
      cause: error,
    });
  }
}

/** What is denied the model is not even told of. */
function journaled(tools: readonly FoundTool[], { policy, servers }: ModelRuntime): readonly JournaledTool[] {
  const ids = servers.map(({ name }) => name);
  const verdictOn = policyOf(policy, ids);
  const allowed = tools.flatMap((tool) => {
    const verdict = verdictOn(tool);
    return verdict === 'deny' ? [] : [{ ...tool, verdict }];
  });
  const names = toolNames(allowed, ids);
  return allowed.map((tool, n) => {
    const { server, description, inputSchema, hints, verdict } = tool;
    return { name: names[n] ?? '', server, tool: tool.tool, description, inputSchema, hints, verdict };
  });
}
