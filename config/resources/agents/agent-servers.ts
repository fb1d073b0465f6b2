// Reads an agent's tool servers. An inline server is defined in the agent's file, with all fields of the
// catalog. A reference to a server of the catalog contains only its name and a tool filter.

import { dirname } from 'node:path';
import { type ServerEntry, withCredentials } from '../../catalog/catalog-schema.ts';
import { normaliseEntry } from '../../catalog/normalise-entry.ts';
import { joinPath } from '../../reader/field-path.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import type { AgentSpec } from './agent-schema.ts';
import type { AgentServer } from './model-runtime.ts';
import type { WrittenToolServer } from './tool-server-schema.ts';

/** Allowed fields of a reference to the catalog. */
const referenceKeys = ['name', 'server', 'tools', 'enabled', 'disabled'];

/**
 * Returns the enabled servers in file order. Paths are relative to the folder of `file`, the agent's file.
 */
export function readServers(
  reader: SchemaReader,
  { mcp_servers, env }: Pick<AgentSpec, 'mcp_servers' | 'env'>,
  file: string,
): readonly AgentServer[] {
  const names = new Set<string>();
  const servers = mcp_servers.flatMap((written, index) => {
    const path = joinPath('spec.mcp_servers', index);
    const server = written === undefined ? undefined : readServer(reader, written, path, file);
    if (server === undefined) return [];
    if (names.has(server.name)) {
      const key = ['name', 'server'].map((each) => joinPath(path, each)).find((each) => reader.has(each));
      reader.report(key ?? path, `is a duplicate: ${server.name}`);
    }
    names.add(server.name);
    return [withVariables(server, env, reader.credentialsBelow('spec.env'))];
  });
  return servers.filter(({ entry }) => entry?.enabled !== false);
}

function readServer(
  reader: SchemaReader,
  written: string | WrittenToolServer,
  path: string,
  file: string,
): AgentServer | undefined {
  if (typeof written === 'string') return { name: written, entry: undefined, tools: allTools };
  if (reader.has(joinPath(path, 'server'))) return readReference(reader, written, path);
  const { name, server: _, ...fields } = written;
  if (!reader.has(joinPath(path, 'name'))) reader.report(joinPath(path, 'name'), 'required, but missing');
  if (!reader.has(joinPath(path, 'command')) && !reader.has(joinPath(path, 'url'))) {
    const advice = name === undefined ? '' : `; for a server of the catalog write - server: ${name}`;
    reader.reportKey(path, `needs a command, or a url${advice}`);
    return undefined;
  }
  // With isolation `shared` all calls use one process: the agent is the only client of its inline server.
  const entry = normaliseEntry(reader, { isolation: 'shared', ...fields }, path, dirname(file));
  return entry === undefined || name === undefined ? undefined : { name, entry, tools: entry.tools };
}

/** Tool filter that allows all tools. */
const allTools = { allow: ['*'], deny: [] };

function readReference(
  reader: SchemaReader,
  written: WrittenToolServer,
  path: string,
): AgentServer | undefined {
  const { name, server, tools } = written;
  for (const key of Object.keys(written)) {
    if (!referenceKeys.includes(key))
      reader.reportKey(
        joinPath(path, key),
        'is for inline servers only; change the entry in the catalog instead',
      );
  }
  if (server === undefined || written.enabled === false || written.disabled === true) return undefined;
  if (name !== undefined && name !== server)
    reader.report(joinPath(path, 'name'), `differs from the id in the catalog, ${server}; remove it`);
  return {
    name: server,
    entry: undefined,
    tools: { allow: tools?.allow ?? allTools.allow, deny: tools?.deny ?? allTools.deny },
  };
}

/** Adds the agent's variables `env` to a local inline server; `credentials` are the secrets in `env`. */
function withVariables(
  server: AgentServer,
  env: Readonly<Record<string, string>>,
  credentials: readonly string[],
): AgentServer {
  const { entry } = server;
  if (entry === undefined || entry.runtime !== 'stdio') return server;
  const filled: ServerEntry = { ...entry, env: { ...env, ...entry.env } };
  return { ...server, entry: withCredentials(filled, credentials) };
}
