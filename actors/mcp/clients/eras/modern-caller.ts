// The caller of a modern request: what `params._meta` says of the protocol version, the client and its capabilities
// (2026-07-28, "General fields"). It holds for that request alone.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { type Caller, metaKeys, modernVersion } from '../../jsonrpc/modern-meta.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import type { Span } from '../../jsonrpc/span.ts';
import { isLogLevel, type LogLevel } from '../../servers/notifications/subscriptions.ts';

/** What a client says of itself is kept as long as it listens or has a connection: it must stay affordable (A8). */
const MAX_INTRODUCTION = 65_536;
const SMALL_BYTES = 1_024;
const BRACE = 0x7b;

export interface ModernCaller extends Caller {
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly logLevel: LogLevel | undefined;
  /** Who that is, where it had to be proven: nothing that belongs to one is given to another. */
  readonly principal?: string | undefined;
}

/** Reads and checks the metadata. Throws RpcFault −32022 for another version and −32602 for what is missing or wrong. */
export function readCaller(envelope: Envelope, principal?: string): ModernCaller {
  const { rawId } = envelope;
  const requested = envelope.metaText(metaKeys.protocolVersion);
  const wrong = (what: string) => new RpcFault(rpcCodes.invalidParams, what, rawId);
  if (requested === undefined) throw wrong(`params._meta needs "${metaKeys.protocolVersion}", a string`);
  if (requested !== modernVersion) {
    throw new RpcFault(rpcCodes.unsupportedVersion, 'Unsupported protocol version', rawId, {
      supported: [modernVersion],
      requested: requested.slice(0, 100),
    });
  }
  const info = envelope.meta(metaKeys.clientInfo);
  const capabilities = envelope.meta(metaKeys.clientCapabilities);
  if (lengthOf(info) + lengthOf(capabilities) > MAX_INTRODUCTION)
    throw wrong(`what params._meta says of the client is larger than ${MAX_INTRODUCTION} bytes`);
  if (capabilities === undefined || envelope.bytes[capabilities.start] !== BRACE)
    throw wrong(`params._meta needs "${metaKeys.clientCapabilities}", an object`);
  const logLevel = envelope.parse(envelope.meta(metaKeys.logLevel));
  if (logLevel !== undefined && !isLogLevel(logLevel))
    throw wrong(`unknown log level ${JSON.stringify(logLevel)?.slice(0, 100)}`);
  return new AskerOfRequest(envelope, info, capabilities, logLevel, principal);
}

function lengthOf(span: Span | undefined): number {
  return span === undefined ? 0 : span.end - span.start;
}

/** Parses what it is asked for, and keeps that only where it is small: what is deep takes fifty times as much as its text. */
class AskerOfRequest implements ModernCaller {
  readonly logLevel: LogLevel | undefined;
  readonly principal: string | undefined;
  readonly #envelope: Envelope;
  readonly #info: Span | undefined;
  readonly #said: Span;
  #capabilities: Readonly<Record<string, unknown>> | undefined;

  constructor(
    envelope: Envelope,
    info: Span | undefined,
    capabilities: Span,
    logLevel: LogLevel | undefined,
    principal: string | undefined,
  ) {
    this.#envelope = envelope;
    this.#info = info;
    this.#said = capabilities;
    this.logLevel = logLevel;
    this.principal = principal;
  }

  get clientInfo(): unknown {
    return this.#envelope.parse(this.#info) ?? { name: 'unknown', version: '0' };
  }

  get capabilities(): Readonly<Record<string, unknown>> {
    if (this.#capabilities !== undefined) return this.#capabilities;
    const parsed = this.#envelope.parse(this.#said) as Readonly<Record<string, unknown>>;
    if (lengthOf(this.#said) <= SMALL_BYTES) this.#capabilities = parsed;
    return parsed;
  }
}
