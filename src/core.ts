// gateway-core: the gateway as a library. All exports are public API; examples/embed.mjs uses it.

export * from '../actors/base/errors/errors.ts';
export { type Log, silentLog } from '../actors/base/errors/log.ts';
export type {
  Tool,
  ToolRequestOptions,
  ToolResult,
} from '../actors/mcp/clients/tool-request.ts';
export { RpcFault, rpcCodes } from '../actors/mcp/jsonrpc/rpc-fault.ts';
export { ConfigError, formatProblem, type Problem } from '../config/reader/problem.ts';
export type { Gateway } from './library/gateway.ts';
export { GatewayTransport, type GatewayTransportOptions } from './library/gateway-transport.ts';
export { type OpenGatewayOptions, openGateway } from './library/open-gateway.ts';
export { version } from './version.ts';
