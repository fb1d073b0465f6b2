// Tool patterns in agent files (`tools`, `policy`), and the compiled policy. SERVER/TOOL and SERVER__TOOL match tools on this
// server only, if the agent uses it; other patterns match tool names on all servers.

import type { ToolPolicy } from '../../../config/resources/agents/model-runtime.ts';
import { compileGlobs } from '../../../libs/globs/glob.ts';
import { type PolicyRule, verdictOn } from '../../../machines/agent-run/call-judgement.ts';
import { MergedNames } from '../../mcp/clients/aggregate/tool-names.ts';
import type { FoundTool } from './tool-box.ts';

export interface ToolPatterns {
  /** Patterns for tool names. */
  readonly bare: readonly string[];
  /** Patterns for SERVER/TOOL. */
  readonly placed: readonly string[];
}

/** Splits patterns by form: tool name, or server and tool. `servers` is the agent's full server list. */
export function toolPatterns(patterns: readonly string[], servers: Iterable<string>): ToolPatterns {
  const names = new MergedNames(servers);
  const bare: string[] = [];
  const placed: string[] = [];
  for (const pattern of patterns) {
    const owner = pattern.includes('/') ? undefined : names.ownerOf(pattern);
    if (owner !== undefined) placed.push(`${owner}/${pattern.slice(owner.length + 2)}`);
    else if (pattern.includes('/')) placed.push(pattern);
    else bare.push(pattern);
  }
  return { bare, placed };
}

/** Stand for the hints of a server. */
const HINTS: readonly string[] = ['destructive', 'readonly'];

/** Returns the policy verdict on each tool. `servers` is the agent's full server list. */
export function policyOf(
  { deny, ask }: ToolPolicy,
  servers: readonly string[],
): (tool: FoundTool) => 'deny' | 'ask' | 'allow' {
  const rules = { deny: ruleOf(deny, servers), ask: ruleOf(ask, servers) };
  return (tool) => verdictOn(tool, rules);
}

function ruleOf(patterns: readonly string[], servers: readonly string[]): PolicyRule {
  const names = patterns.filter((pattern) => !HINTS.includes(pattern));
  const { bare, placed } = toolPatterns(names, servers);
  const isNamed = compileGlobs(bare, { kind: 'text' });
  const isPlacedSo = compileGlobs(placed, { kind: 'text' });
  return {
    matches: (server, tool) => isNamed(tool) || isPlacedSo(`${server}/${tool}`),
    hasDestructive: patterns.includes('destructive'),
    hasReadonly: patterns.includes('readonly'),
  };
}
