// Who sends a modern request: what `params._meta` says of the protocol version, the client and what it can do
// (2026-07-28, "General fields"). It holds for that request alone.

import type { Envelope } from '../jsonrpc/envelope.ts';
import { type Asker, metaKeys, modernVersion } from '../jsonrpc/modern-meta.ts';
import { RpcFault, rpcCodes } from '../jsonrpc/rpc-fault.ts';
import { isLogLevel, type LogLevel } from '../server/subscriptions.ts';

/** What a client says of itself is kept as long as it listens or has a connection: it must stay affordable (A8). */
const MAX_INTRODUCTION = 65_536;

export interface ModernAsker extends Asker {
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly logLevel: LogLevel | undefined;
}

/** Whether the message claims a protocol version for itself, and so belongs to the modern era, `initialize` too. */
export function isModern(envelope: Envelope): boolean {
  return envelope.meta(metaKeys.protocolVersion) !== undefined;
}

/** Reads and checks the metadata. Throws RpcFault −32022 for another version and −32602 for what is missing or wrong. */
export function readAsker(envelope: Envelope): ModernAsker {
  const { rawId } = envelope;
  const read = (key: string) => envelope.parse(envelope.meta(key));
  const requested = read(metaKeys.protocolVersion);
  const wrong = (what: string) => new RpcFault(rpcCodes.invalidParams, what, rawId);
  if (typeof requested !== 'string')
    throw wrong(`params._meta needs "${metaKeys.protocolVersion}", a string`);
  if (requested !== modernVersion) {
    throw new RpcFault(rpcCodes.unsupportedVersion, 'Unsupported protocol version', rawId, {
      supported: [modernVersion],
      requested: requested.slice(0, 100),
    });
  }
  const said = [metaKeys.clientInfo, metaKeys.clientCapabilities].map((key) => envelope.meta(key));
  const size = said.reduce((sum, span) => sum + (span === undefined ? 0 : span.end - span.start), 0);
  if (size > MAX_INTRODUCTION)
    throw wrong(`what params._meta says of the client is larger than ${MAX_INTRODUCTION} bytes`);
  const capabilities = read(metaKeys.clientCapabilities);
  if (!isRecord(capabilities)) throw wrong(`params._meta needs "${metaKeys.clientCapabilities}", an object`);
  const logLevel = read(metaKeys.logLevel);
  if (logLevel !== undefined && !isLogLevel(logLevel))
    throw wrong(`unknown log level ${JSON.stringify(logLevel)?.slice(0, 100)}`);
  const clientInfo = read(metaKeys.clientInfo) ?? { name: 'unknown', version: '0' };
  return { clientInfo, capabilities, logLevel };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
