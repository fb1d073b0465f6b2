// Makes the handler of an agent, by its runtime.

import type { Agent } from '../../config/resources/agents/agent.ts';
import type { Handler } from './handler.ts';
import { HttpAgent } from './http-agent.ts';
import { ScriptedAgent } from './scripted-agent.ts';

/** Undefined for an agent that has nobody to answer for it. */
export function makeHandler({ runtime }: Agent): Handler | undefined {
  if (runtime === undefined) return undefined;
  if (runtime.kind === 'scripted') return new ScriptedAgent(runtime.script);
  const { url, headers, timeout_seconds } = runtime;
  return new HttpAgent({ url, headers, timeoutMs: timeout_seconds * 1000 });
}
