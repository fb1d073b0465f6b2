// Creates the first row (`begun`) for an agent run: agent definition, request, and the tools with their names
// for the model and their policy verdicts.
//
// Invariant R4: a run continues with the definition in its first row, which never changes. Changes of the
// file apply to new runs only.

import { randomBytes } from 'node:crypto';
import type { AgentMemory, ModelRuntime } from '../../../config/resources/agents/model-runtime.ts';
import type { JournaledTool, JournalRow } from '../../../machines/agent-run/journal.ts';
import { type ChatMessage, recentConversation } from '../../../machines/agent-run/messages.ts';
import { GatewayError } from '../../base/errors/errors.ts';
import { RpcFault } from '../../mcp/jsonrpc/rpc-fault.ts';
import { HandlerError, type Job } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import { historyText, requestText } from './request-text.ts';
import type { AgentTool, AllTools } from './tool-box.ts';
import { toolNames } from './tool-names.ts';
import { policyOf } from './tool-policy.ts';

/**
 * Returns the remembered conversation and the new request. Event data is untrusted, and never in the system
 * prompt.
 */
function messagesFor(job: Job, memory: AgentMemory): readonly ChatMessage[] {
  const isFramed = job.message !== undefined;
  const history = recentConversation(job.history, memory).map(
    (message): ChatMessage =>
      message.role === 'user'
        ? { role: 'user', text: historyText(message, isFramed) }
        : { role: 'assistant', text: message.text },
  );
  return [...history, { role: 'user', text: requestText(job) }];
}

const NONCE_BYTES = 9;
/**
 * Share of the remaining time for listing tools, so that the error is logged before the attempt times out.
 */
const LIST_TIME_PART = 0.9;

interface BeginOptions {
  readonly job: Job;
  readonly runtime: ModelRuntime;
  readonly tools: AllTools;
  readonly context: Pick<HandlerContext, 'runTools'>;
  readonly onTools?: (tools: readonly AgentTool[]) => void;
}

/** Returns the first row. Rejects with a HandlerError if the tools cannot be listed. */
export async function createBegunRow(
  { job, runtime, tools, context, onTools }: BeginOptions,
  signal: AbortSignal,
  remainingMs: number,
): Promise<JournalRow> {
  const serverTools =
    runtime.servers.length === 0
      ? undefined
      : await listTools(job, tools, signal, remainingMs * LIST_TIME_PART);
  if (serverTools !== undefined) onTools?.(serverTools);
  const all = [...(serverTools ?? []), ...(context.runTools?.list() ?? [])];
  return {
    kind: 'begun',
    agent: job.agent,
    nonce: randomBytes(NONCE_BYTES).toString('base64url'),
    definition: runtime.definition,
    messages: messagesFor(job, runtime.memory),
    tools: journalTools(all, runtime),
  };
}

async function listTools(
  { agent }: Job,
  tools: AllTools,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<readonly AgentTool[]> {
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

/** Returns the tools for the journal, without denied tools. */
function journalTools(
  tools: readonly AgentTool[],
  { policy, servers }: ModelRuntime,
): readonly JournaledTool[] {
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
