// Tool patterns in agent files (`tools`, `policy`), and the compiled policy. SERVER/TOOL and SERVER__TOOL
// match tools of this server only, if the agent uses it; other patterns match tool names on any server.

import type { ToolPolicy } from '../../../config/resources/agents/model-runtime.ts';
import { compileGlobs } from '../../../libs/globs/glob.ts';
import { type PolicyRule, policyDecision } from '../../../machines/agent-run/call-decision.ts';
import { MergedNames } from '../../mcp/clients/aggregate/tool-names.ts';
import type { AgentTool } from './tool-box.ts';

export interface ToolPatterns {
  /** Patterns for tool names. */
  readonly bare: readonly string[];
  /** Patterns for SERVER/TOOL. */
  readonly qualified: readonly string[];
}

/** Splits patterns by form: tool name, or server and tool. `servers` is the agent's full server list. */
export function toolPatterns(patterns: readonly string[], servers: Iterable<string>): ToolPatterns {
  const names = new MergedNames(servers);
  const bare: string[] = [];
  const qualified: string[] = [];
  for (const pattern of patterns) {
    const owner = pattern.includes('/') ? undefined : names.ownerOf(pattern);
    if (owner !== undefined) qualified.push(`${owner}/${pattern.slice(owner.length + 2)}`);
    else if (pattern.includes('/')) qualified.push(pattern);
    else bare.push(pattern);
  }
  return { bare, qualified };
}

/** Policy keywords that select tools by server hints, not by name. */
const HINTS: readonly string[] = ['destructive', 'readonly'];

/** Returns the policy verdict on each tool. `servers` is the agent's full server list. */
export function policyOf(
  { deny, ask }: ToolPolicy,
  servers: readonly string[],
): (tool: AgentTool) => 'deny' | 'ask' | 'allow' {
  const rules = { deny: ruleOf(deny, servers), ask: ruleOf(ask, servers) };
  return (tool) => policyDecision(tool, rules);
}

function ruleOf(patterns: readonly string[], servers: readonly string[]): PolicyRule {
  const names = patterns.filter((pattern) => !HINTS.includes(pattern));
  const { bare, qualified } = toolPatterns(names, servers);
  const isNamed = compileGlobs(bare, { kind: 'text' });
  const isQualifiedMatch = compileGlobs(qualified, { kind: 'text' });
  return {
    matches: (server, tool) => isNamed(tool) || isQualifiedMatch(`${server}/${tool}`),
    hasDestructive: patterns.includes('destructive'),
    hasReadonly: patterns.includes('readonly'),
  };
}
