// Names in the file of an agent that are those of no tool: a slip there takes a tool away, or lets one be called that somebody was to
// approve. It shows only when the servers have said what they offer, at the beginning of a run.

import type { ModelRuntime } from '../../../config/resources/agents/model-runtime.ts';
import { compileGlobs } from '../../../libs/globs/glob.ts';
import type { FoundTool } from './tool-box.ts';
import { toolPatterns } from './tool-policy.ts';

/** As they are found in the file: `tools: read_fiel`. A pattern under `policy` may be meant for what is not there. */
export function unmatchedNames(
  { tools, policy, servers }: Pick<ModelRuntime, 'tools' | 'policy' | 'servers'>,
  found: readonly Pick<FoundTool, 'server' | 'tool'>[],
): readonly string[] {
  const ids = servers.map(({ name }) => name);
  const isUnmatched = (written: string): boolean => {
    const { bare, placed } = toolPatterns([written], ids);
    const names = found.map(({ server, tool }) => (placed.length > 0 ? `${server}/${tool}` : tool));
    const [pattern = written] = [...placed, ...bare];
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
