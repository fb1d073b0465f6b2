// Compiles policy lists. Patterns have the syntax of an agent's `tools` (tool-patterns.ts).

import type { ToolPolicy } from '../../../config/resources/agents/model-runtime.ts';
import { compileGlobs } from '../../../libs/globs/glob.ts';
import { type PolicyRule, verdictOn } from '../../../machines/agent-run/policy.ts';
import type { FoundTool } from './tool-box.ts';
import { toolPatterns } from './tool-patterns.ts';

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
