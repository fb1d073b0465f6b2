// Patterns of tools in the file of an agent (`tools`, `policy`). SERVER/TOOL and SERVER__TOOL, with a server of the agent, mean tools of
// that server alone; any other pattern means tools by their own names, of all servers.

import { MergedNames } from '../client/aggregate/tool-names.ts';

export interface ToolPatterns {
  /** Patterns of tools' own names. */
  readonly bare: readonly string[];
  /** Patterns of SERVER/TOOL. */
  readonly placed: readonly string[];
}

/** Splits the patterns by what they are compared with. `servers` are all servers of the agent. */
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
