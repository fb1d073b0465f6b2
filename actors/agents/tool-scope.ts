// Which tools of its servers an agent sees: `tools: { allow, deny }` of each server, then the patterns of the agent. A pattern with a
// slash is SERVER/TOOL, and stands for nothing else: a tool cannot take the name of another server into its own.

import type { AgentServer } from '../../config/resources/agents/model-runtime.ts';
import { loadToolFilters, toolFilter } from '../client/aggregate/tool-filter.ts';

/** Whether the tool of that name is seen. */
export type ToolScope = (tool: string) => boolean;

type Patterns = AgentServer['tools'];

/** To be awaited before scopes are made. */
export function loadToolScopes(servers: readonly AgentServer[], patterns: readonly string[]): Promise<void> {
  return loadToolFilters([...servers.map(({ tools }) => tools), ...halves(patterns)]);
}

/** By the name of the server. Without patterns all that the servers let through. */
export function toolScopes(
  servers: readonly AgentServer[],
  patterns: readonly string[],
): ReadonlyMap<string, ToolScope> {
  const [named, placed] = halves(patterns).map(toolFilter);
  return new Map(
    servers.map(({ name, tools }) => {
      const isLetThrough = toolFilter(tools);
      const isNamed: ToolScope = (tool) =>
        patterns.length === 0 || named?.(tool) === true || placed?.(`${name}/${tool}`) === true;
      return [name, (tool: string) => isLetThrough(tool) && isNamed(tool)];
    }),
  );
}

/** The patterns of TOOL, and those of SERVER/TOOL. */
function halves(patterns: readonly string[]): Patterns[] {
  const isPlaced = (pattern: string) => pattern.includes('/');
  return [
    { allow: patterns.filter((pattern) => !isPlaced(pattern)), deny: [] },
    { allow: patterns.filter(isPlaced), deny: [] },
  ];
}
