// Tools visible to an agent: `tools: { allow, deny }` per server, then the agent's patterns (tool-patterns.ts).

import type { AgentServer } from '../../../config/resources/agents/model-runtime.ts';
import { loadToolFilters, toolFilter } from '../../mcp/clients/aggregate/tool-filter.ts';
import { toolPatterns } from './tool-patterns.ts';

/** Whether the tool of that name is seen. */
export type ToolScope = (tool: string) => boolean;

type Patterns = AgentServer['tools'];

/** To be awaited before scopes are made. */
export function loadToolScopes(servers: readonly AgentServer[], patterns: readonly string[]): Promise<void> {
  return loadToolFilters([...servers.map(({ tools }) => tools), ...halves(servers, patterns)]);
}

/** By the name of the server. Without patterns all that the servers let through. */
export function toolScopes(
  servers: readonly AgentServer[],
  patterns: readonly string[],
): ReadonlyMap<string, ToolScope> {
  const [named, placed] = halves(servers, patterns).map(toolFilter);
  return new Map(
    servers.map(({ name, tools }) => {
      const isLetThrough = toolFilter(tools);
      const isNamed: ToolScope = (tool) =>
        patterns.length === 0 || named?.(tool) === true || placed?.(`${name}/${tool}`) === true;
      return [name, (tool: string) => isLetThrough(tool) && isNamed(tool)];
    }),
  );
}

/** Patterns for tool names, and patterns for SERVER/TOOL. */
function halves(servers: readonly AgentServer[], patterns: readonly string[]): Patterns[] {
  const { bare, placed } = toolPatterns(
    patterns,
    servers.map(({ name }) => name),
  );
  return [
    { allow: bare, deny: [] },
    { allow: placed, deny: [] },
  ];
}
