// gateway-core: the gateway as a library. Everything exported here is public; examples/embed.mjs uses it.

export * from '../actors/base/errors/errors.ts';
export { type Log, silentLog } from '../actors/base/errors/log.ts';
export type { Part } from '../actors/base/supervision/part.ts';
export { Gateway, type GatewayOptions } from '../actors/gateway/gateway.ts';
export { isModern } from '../actors/mcp/clients/eras/modern-caller.ts';
export type { InProcessOptions, Tool, ToolResult } from '../actors/mcp/clients/in-process-client.ts';
export type { MessageRouter, Origin } from '../actors/mcp/clients/message-router.ts';
export type { Outlet, Stream } from '../actors/mcp/clients/outlet.ts';
export { ClientSession } from '../actors/mcp/clients/sessions/session.ts';
export type { Envelope } from '../actors/mcp/jsonrpc/envelope.ts';
export { readClientMessage } from '../actors/mcp/jsonrpc/read-message.ts';
export { RpcFault, rpcCodes } from '../actors/mcp/jsonrpc/rpc-fault.ts';
export type { ManagedServer } from '../actors/mcp/servers/managed-server.ts';
export type { CatalogDifference } from '../actors/mcp/servers/server-registry.ts';
export type { Catalog, RemoteEntry, ServerEntry, StdioEntry } from '../config/catalog/catalog-schema.ts';
export type { GatewayConfig } from '../config/gateway-file/gateway-schema.ts';
export { type Loaded, loadConfig } from '../config/load-config.ts';
export { ConfigError, formatProblem, type Problem } from '../config/reader/problem.ts';
export { GatewayTransport, type GatewayTransportOptions } from './library/gateway-transport.ts';
export { openGateway } from './library/open-gateway.ts';
export { version } from './version.ts';
