// The identity of a modern client, which has no session: protocol version, clientInfo and capabilities in
// `params._meta` (2026-07-28, "General fields"). Each request contains it, and it is valid for that request
// only.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { type Caller, metaKeys, modernVersion } from '../../jsonrpc/modern-meta.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import type { Span } from '../../jsonrpc/span.ts';
import { isLogLevel, type LogLevel } from '../../servers/notifications/subscriptions.ts';

/** Maximum size of the identity in bytes. Listen streams and connections store it (A8, ARCHITECTURE.md). */
const MAX_INTRODUCTION = 65_536;
/** Maximum size of capabilities that are cached in parsed form, in bytes. */
const SMALL_BYTES = 1_024;
/** Byte of `{`. */
const BRACE = 0x7b;

export interface ModernCaller extends Caller {
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly logLevel: LogLevel | undefined;
  /** Authenticated principal. Resources are never shared between principals. */
  readonly principal?: string | undefined;
}

/**
 * Reads and checks the metadata. Throws RpcFault −32022 for another version, −32602 for missing or invalid
 * members.
 */
export function readCaller(envelope: Envelope, principal?: string): ModernCaller {
  const { rawId } = envelope;
  const version = envelope.metaText(metaKeys.protocolVersion);
  const invalid = (problem: string) => new RpcFault(rpcCodes.invalidParams, problem, rawId);
  if (version === undefined) throw invalid(`params._meta needs "${metaKeys.protocolVersion}", a string`);
  if (version !== modernVersion) {
    throw new RpcFault(rpcCodes.unsupportedVersion, 'Unsupported protocol version', rawId, {
      supported: [modernVersion],
      requested: version.slice(0, 100),
    });
  }
  const info = envelope.meta(metaKeys.clientInfo);
  const capabilities = envelope.meta(metaKeys.clientCapabilities);
  if (lengthOf(info) + lengthOf(capabilities) > MAX_INTRODUCTION)
    throw invalid(`clientInfo and clientCapabilities in params._meta exceed ${MAX_INTRODUCTION} bytes`);
  if (capabilities === undefined || envelope.bytes[capabilities.start] !== BRACE)
    throw invalid(`params._meta needs "${metaKeys.clientCapabilities}", an object`);
  const logLevel = envelope.parse(envelope.meta(metaKeys.logLevel));
  if (logLevel !== undefined && !isLogLevel(logLevel))
    throw invalid(`unknown log level ${JSON.stringify(logLevel)?.slice(0, 100)}`);
  return new RequestCaller(envelope, info, capabilities, logLevel, principal);
}

function lengthOf(span: Span | undefined): number {
  return span === undefined ? 0 : span.end - span.start;
}

/**
 * Identity in one request. Parses its members on demand. Only small capabilities are cached in parsed form:
 * deeply nested JSON needs fifty times the memory of the text.
 */
class RequestCaller implements ModernCaller {
  readonly logLevel: LogLevel | undefined;
  readonly principal: string | undefined;
  readonly #envelope: Envelope;
  readonly #info: Span | undefined;
  readonly #capabilitiesSpan: Span;
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
    this.#capabilitiesSpan = capabilities;
    this.logLevel = logLevel;
    this.principal = principal;
  }

  get clientInfo(): unknown {
    return this.#envelope.parse(this.#info) ?? { name: 'unknown', version: '0' };
  }

  get capabilities(): Readonly<Record<string, unknown>> {
    if (this.#capabilities !== undefined) return this.#capabilities;
    const capabilities = this.#envelope.parse(this.#capabilitiesSpan) as Readonly<Record<string, unknown>>;
    if (lengthOf(this.#capabilitiesSpan) <= SMALL_BYTES) this.#capabilities = capabilities;
    return capabilities;
  }
}
