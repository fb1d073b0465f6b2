// gateway-core: the gateway as a library. Everything exported here is public; examples/embed.mjs uses it.

export { isModern } from '../actors/client/eras/modern-caller.ts';
export type { InProcessOptions, Tool, ToolResult } from '../actors/client/in-process-client.ts';
export type { MessageRouter, Origin } from '../actors/client/message-router.ts';
export type { Outlet, Stream } from '../actors/client/outlet.ts';
export { ClientSession } from '../actors/client/sessions/session.ts';
export * from '../actors/errors.ts';
export { Gateway, type GatewayOptions } from '../actors/gateway/gateway.ts';
export type { Part } from '../actors/gateway/life.ts';
export type { CatalogDifference } from '../actors/gateway/server-registry.ts';
export type { Envelope } from '../actors/jsonrpc/envelope.ts';
export { readClientMessage } from '../actors/jsonrpc/read-message.ts';
export { RpcFault, rpcCodes } from '../actors/jsonrpc/rpc-fault.ts';
export { type Log, silentLog } from '../actors/log.ts';
export type { ManagedServer } from '../actors/server/managed-server.ts';
export type { Catalog, RemoteEntry, ServerEntry, StdioEntry } from '../config/catalog/catalog-schema.ts';
export type { GatewayConfig } from '../config/gateway-file/gateway-schema.ts';
export { type Loaded, loadConfig } from '../config/load-config.ts';
export { ConfigError, formatProblem, type Problem } from '../config/reader/problem.ts';
export { GatewayTransport, type GatewayTransportOptions } from './library/gateway-transport.ts';
export { openGateway } from './library/open-gateway.ts';
export { version } from './version.ts';
