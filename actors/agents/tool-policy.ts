// The lists of a policy, made ready. A pattern with a slash is SERVER/TOOL, and stands for nothing else, as in an agent's `tools`.

import type { ToolPolicy } from '../../config/resources/agents/model-runtime.ts';
import { compileGlobs } from '../../globs/glob.ts';
import { type PolicyRule, verdictOn } from '../../machines/agent-run/policy.ts';
import type { FoundTool } from './tool-box.ts';

/** Stand for the hints of a server. */
const HINTS: readonly string[] = ['destructive', 'readonly'];

export function policyOf({ deny, ask }: ToolPolicy): (tool: FoundTool) => 'deny' | 'ask' | 'allow' {
  const rules = { deny: ruleOf(deny), ask: ruleOf(ask) };
  return (tool) => verdictOn(tool, rules);
}

function ruleOf(patterns: readonly string[]): PolicyRule {
  const names = patterns.filter((pattern) => !HINTS.includes(pattern));
  const isPlaced = (pattern: string) => pattern.includes('/');
  const isNamed = compileGlobs(
    names.filter((pattern) => !isPlaced(pattern)),
    { kind: 'text' },
  );
  const isPlacedSo = compileGlobs(names.filter(isPlaced), { kind: 'text' });
  return {
    matches: (server, tool) => isNamed(tool) || isPlacedSo(`${server}/${tool}`),
    hasDestructive: patterns.includes('destructive'),
    hasReadonly: patterns.includes('readonly'),
  };
}
