// Tool patterns in an agent file (`tools`, `policy`). SERVER/TOOL and SERVER__TOOL, with a server of the agent, match tools of this
// server only; other patterns match tool names on all servers.

import { MergedNames } from '../../mcp/clients/aggregate/tool-names.ts';

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
