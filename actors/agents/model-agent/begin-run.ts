// How a run begins: with the definition of its agent, what it is asked, and the tools that there are, each with its name towards the
// model and the verdict of the policy. All of that stands in its first row, and nothing changes it afterwards (R4).

import { randomBytes } from 'node:crypto';
import type { AgentMemory, ModelRuntime } from '../../../config/resources/agents/model-runtime.ts';
import type { JournaledTool, JournalRow } from '../../../machines/agent-run/journal.ts';
import { remembered } from '../../../machines/agent-run/messages.ts';
import { GatewayError } from '../../base/errors/errors.ts';
import { RpcFault } from '../../mcp/jsonrpc/rpc-fault.ts';
import { HandlerError, type HistoryMessage, type Job } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { AllTools, FoundTool } from './tool-box.ts';
import { toolNames } from './tool-names.ts';
import { policyOf } from './tool-policy.ts';

/** Limits in UTF-16 units. */
const MAX_INPUT = 65_536;
const MAX_CONTEXT = 16_384;
const MAX_VALUE = 2_048;
const CUT = ' […]';

/** Returns the remembered conversation and the new request. Event data is untrusted, and never in the system prompt. */
export function messagesFor(job: Job, memory: AgentMemory): readonly HistoryMessage[] {
  return [...remembered(job.history, memory), { role: 'user', text: asked(job) }];
}

/** Returns the text of a message; commands and events are described with their parameters. */
function asked(job: Job): string {
  const words = cut(wordsOf(job), MAX_INPUT);
  const { command, parameters, event } = job;
  if (command === undefined && event.name === undefined) return words;
  const what = command === undefined ? `Event: ${event.name} (${event.type})` : `Command: ${command}`;
  const given = [...linesOf(parameters), ...linesOf(event.context)];
  const about = cut([what, ...given].join('\n'), MAX_CONTEXT);
  return words === '' ? about : `${about}\n\n${words}`;
}

function wordsOf({ input, inputJson }: Job): string {
  if (inputJson === undefined) return input;
  try {
    const value: unknown = JSON.parse(Buffer.from(inputJson).toString('utf8'));
    return typeof value === 'string' ? value : JSON.stringify(value);
  } catch {
    return input;
  }
}

function linesOf(values: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const text = typeof value === 'object' ? undefined : String(value ?? '');
    return text === undefined || text === '' ? [] : [`${name}: ${cut(text, MAX_VALUE)}`];
  });
}

const cut = (text: string, most: number) =>
  text.length <= most ? text : text.slice(0, most - CUT.length).toWellFormed() + CUT;

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
