// Creates the handler for an agent's runtime.

import type { Agent } from '../../../config/resources/agents/agent.ts';
import type { ModelRuntime } from '../../../config/resources/agents/model-runtime.ts';
import type { Handler } from './handler.ts';
import { HttpAgent } from './http-agent.ts';
import { ScriptedAgent } from './scripted-agent.ts';

/** Creates a model agent's handler. `file` is the agent's file, absolute. */
export type MakeModelAgent = (runtime: ModelRuntime, file: string) => Handler;

/** Returns undefined for a model agent without `modelAgent`, which then cannot answer. */
export function makeHandler(agent: Agent, modelAgent?: MakeModelAgent): Handler | undefined {
  const handler = handlerOf(agent, modelAgent);
  const { format } = agent;
  return handler && { format, run: (job, context) => handler.run(job, context) };
}

function handlerOf({ runtime, file }: Agent, modelAgent: MakeModelAgent | undefined): Handler | undefined {
  if (runtime.kind === 'model') return modelAgent?.(runtime, file);
  if (runtime.kind === 'scripted') return new ScriptedAgent(runtime.script);
  const { url, headers, timeout_seconds } = runtime;
  return new HttpAgent({ url, headers, timeoutMs: timeout_seconds * 1000 });
}
