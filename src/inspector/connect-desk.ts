// What a page needs to know to say how clients connect: whether a key is asked for, which it never tells, and how the program beside
// this gateway is started.

import { join } from 'node:path';
import type { McpSide } from '../../actors/mcp/mcp-side.ts';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import type { ConnectFacts } from './wire/tool-wire.ts';

export function connectFacts(
  { api_key }: Pick<GatewayConfig, 'api_key'>,
  { servers, clients }: McpSide,
): ConnectFacts {
  return {
    needs_key: api_key !== '',
    // Everything is built into one folder.
    program: { command: process.execPath, args: [join(import.meta.dirname, 'main.js'), 'stdio'] },
    profiles: [...clients.profiles.all()].map(({ name }) => name),
    servers: servers.all().flatMap(({ id, entry }) => (entry.enabled ? [id] : [])),
  };
}
