// Names in the file of an agent that are those of no tool: a slip there takes a tool away, or lets one be called that somebody was to
// approve. It shows only when the servers have said what they offer, at the beginning of a run.

import type { ModelRuntime } from '../../config/resources/agents/model-runtime.ts';
import { compileGlobs } from '../../globs/glob.ts';
import type { FoundTool } from './tool-box.ts';

/** As they are found in the file: `tools: read_fiel`. A pattern under `policy` may be meant for what is not there. */
export function unmatchedNames(
  { tools, policy }: Pick<ModelRuntime, 'tools' | 'policy'>,
  found: readonly Pick<FoundTool, 'server' | 'tool'>[],
): readonly string[] {
  const bare = found.map(({ tool }) => tool);
  const placed = found.map(({ server, tool }) => `${server}/${tool}`);
  const isUnmatched = (pattern: string): boolean => {
    const names = pattern.includes('/') ? placed : bare;
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
