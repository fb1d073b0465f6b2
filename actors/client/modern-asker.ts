// Who sends a modern request: what `params._meta` says of the protocol version, the client and what it can do
// (2026-07-28, "General fields"). It holds for that request alone.

import type { Envelope } from '../jsonrpc/envelope.ts';
import { type Asker, metaKeys, modernVersion } from '../jsonrpc/modern-meta.ts';
import { RpcFault, rpcCodes } from '../jsonrpc/rpc-fault.ts';
import type { Span } from '../jsonrpc/span.ts';
import { isLogLevel, type LogLevel } from '../server/subscriptions.ts';

/** What a client says of itself is kept as long as it listens or has a connection: it must stay affordable (A8). */
const MAX_INTRODUCTION = 65_536;
const SMALL_BYTES = 1_024;
const BRACE = 0x7b;

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
  const [info, capabilities] = said;
  if (capabilities === undefined || envelope.bytes[capabilities.start] !== BRACE)
    throw wrong(`params._meta needs "${metaKeys.clientCapabilities}", an object`);
  const logLevel = read(metaKeys.logLevel);
  if (logLevel !== undefined && !isLogLevel(logLevel))
    throw wrong(`unknown log level ${JSON.stringify(logLevel)?.slice(0, 100)}`);
  return new Sender(envelope, { info, capabilities }, logLevel);
}

/** Parses what it is asked for, and keeps that only where it is small: what is deep takes fifty times as much as its text. */
class Sender implements ModernAsker {
  readonly logLevel: LogLevel | undefined;
  readonly #envelope: Envelope;
  readonly #said: { readonly info: Span | undefined; readonly capabilities: Span };
  #capabilities: Readonly<Record<string, unknown>> | undefined;

  constructor(
    envelope: Envelope,
    said: { readonly info: Span | undefined; readonly capabilities: Span },
    logLevel: LogLevel | undefined,
  ) {
    this.#envelope = envelope;
    this.#said = said;
    this.logLevel = logLevel;
  }

  get clientInfo(): unknown {
    return this.#envelope.parse(this.#said.info) ?? { name: 'unknown', version: '0' };
  }

  get capabilities(): Readonly<Record<string, unknown>> {
    if (this.#capabilities !== undefined) return this.#capabilities;
    const { start, end } = this.#said.capabilities;
    const parsed = this.#envelope.parse(this.#said.capabilities) as Readonly<Record<string, unknown>>;
    if (end - start <= SMALL_BYTES) this.#capabilities = parsed;
    return parsed;
  }
}
