// Finds names in an agent file that match no tool: a typo there may hide a tool or bypass an approval. The
// check needs the tools of the servers, so it is part of the start of a run.

import type { ModelRuntime } from '../../../config/resources/agents/model-runtime.ts';
import { compileGlobs } from '../../../libs/globs/glob.ts';
import type { AgentTool } from './tool-box.ts';
import { toolPatterns } from './tool-policy.ts';

/**
 * Returns the unmatched names with their field: `tools: read_fiel`. Policy patterns with wildcards are not
 * checked, because they may match no tool on purpose.
 */
export function unmatchedNames(
  { tools, policy, servers }: Pick<ModelRuntime, 'tools' | 'policy' | 'servers'>,
  agentTools: readonly Pick<AgentTool, 'server' | 'tool'>[],
): readonly string[] {
  const ids = servers.map(({ name }) => name);
  const isUnmatched = (name: string): boolean => {
    const { bare, qualified } = toolPatterns([name], ids);
    const names = agentTools.map(({ server, tool }) => (qualified.length > 0 ? `${server}/${tool}` : tool));
    const [pattern = name] = [...qualified, ...bare];
    if (isName(pattern)) return !names.includes(pattern);
    return !names.some(compileGlobs([pattern], { kind: 'text' }));
  };
  const ofPolicy = (patterns: readonly string[]) =>
    patterns.filter(
      (each) => isName(each) && each !== 'destructive' && each !== 'readonly' && isUnmatched(each),
    );
  return [
    ...tools.filter(isUnmatched).map((each) => `tools: ${each}`),
    ...ofPolicy(policy.ask).map((each) => `policy.ask: ${each}`),
    ...ofPolicy(policy.deny).map((each) => `policy.deny: ${each}`),
  ];
}

const isName = (pattern: string): boolean => !/[*?[\]{}\\]/.test(pattern);
