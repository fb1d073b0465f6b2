// Names of tools for models. A tool name that is unique and valid is unchanged; other tools get the names of
// the merged list at /mcp (clients/aggregate/tool-names.ts). The results are unique, accepted by all
// providers (some require a letter or `_` first), and independent of the order of the tools. `server__tool`
// never names a different tool.

import { isReservedName, MergedNames } from '../../mcp/clients/aggregate/tool-names.ts';

interface NamedTool {
  readonly server: string;
  readonly tool: string;
}

const validName = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/**
 * Returns the names in the order of `tools`, which differ in server or tool. `servers` is the agent's full
 * server list.
 */
export function toolNames(tools: readonly NamedTool[], servers: Iterable<string>): readonly string[] {
  const byServer = new Map<string, string[]>();
  const counts = new Map<string, number>();
  for (const { server, tool } of tools) {
    byServer.set(server, [...(byServer.get(server) ?? []), tool]);
    counts.set(tool, (counts.get(tool) ?? 0) + 1);
  }
  const mergedNames = new MergedNames([...servers, ...byServer.keys()], validName);
  const full = new Map([...byServer].map(([server, all]) => [server, mergedNames.namesOf(server, all)]));
  return tools.map(({ server, tool }) => {
    const isBare = counts.get(tool) === 1 && validName.test(tool) && !isReservedName(tool);
    return isBare ? tool : (full.get(server)?.get(tool) ?? tool);
  });
}
