// Facts for the page about connecting clients and about calls from the page: whether a key is required, the
// start command of the stdio program, the path of the gateway file, profiles (parts of the servers) and
// servers.

import { join } from 'node:path';
import type { McpSide } from '../../actors/mcp/mcp-side.ts';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import type { ConnectFacts } from './wire/tools.ts';

export function connectFacts(
  { api_key }: Pick<GatewayConfig, 'api_key'>,
  { servers, clients }: McpSide,
  gatewayFile: string | undefined,
): ConnectFacts {
  return {
    needs_key: api_key !== '',
    // The build puts all programs into one folder.
    program: { command: process.execPath, args: [join(import.meta.dirname, 'main.js'), 'stdio'] },
    gateway_file: gatewayFile ?? null,
    profiles: [...clients.profiles.all()].map(({ name }) => name),
    servers: servers.all().flatMap(({ id, entry }) => (entry.enabled ? [id] : [])),
  };
}
