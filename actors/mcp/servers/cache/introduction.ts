// Parses the description that a server sends in the handshake: the result of `initialize` or
// `server/discover`. It is cached, so the gateway can describe a server that is not running.

import { UpstreamProtocolError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { metaKeys, modernVersion } from '../../jsonrpc/modern-meta.ts';
import { resultOf } from '../calls/parse-result.ts';

/** Legacy (session) protocol revisions supported by the gateway, newest first. */
export const sessionVersions = [
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
] as const;
export const latestSessionVersion = sessionVersions[0];

export function isSessionVersion(version: unknown): version is string {
  return (sessionVersions as readonly unknown[]).includes(version);
}

export interface ServerDescription {
  readonly protocolVersion: string;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly serverInfo: unknown;
  readonly instructions: string | undefined;
}

/**
 * Parses the response to `initialize`. Throws UpstreamProtocolError if the protocol version is unsupported.
 */
export function readDescription(server: string, answer: Envelope): ServerDescription {
  const result = resultOf(server, 'initialize', answer);
  const { protocolVersion, capabilities, serverInfo, instructions } = result;
  if (!isSessionVersion(protocolVersion)) {
    throw new UpstreamProtocolError(
      `server ${server} requires protocol version ${JSON.stringify(protocolVersion)}; ` +
        `the gateway supports ${sessionVersions.join(', ')}`,
    );
  }
  return {
    protocolVersion,
    capabilities: isRecord(capabilities) ? capabilities : {},
    // Required by the specification, but some servers omit it. Results to modern clients always contain it.
    serverInfo: isRecord(serverInfo) ? serverInfo : { name: server, version: '0' },
    instructions: typeof instructions === 'string' ? instructions : undefined,
  };
}

/**
 * Parses the response to `server/discover` (2026-07-28). Throws UpstreamProtocolError if no version is
 * supported.
 */
export function readDiscovery(server: string, answer: Envelope): ServerDescription {
  const result = resultOf(server, 'server/discover', answer);
  const { supportedVersions, capabilities, instructions, _meta: meta } = result;
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(modernVersion)) {
    throw new UpstreamProtocolError(
      `server ${server} supports ${JSON.stringify(supportedVersions)?.slice(0, 200)}; in the modern era ` +
        `the gateway supports ${modernVersion}`,
    );
  }
  const declaredInfo = isRecord(meta) ? meta[metaKeys.serverInfo] : undefined;
  return {
    protocolVersion: modernVersion,
    capabilities: isRecord(capabilities) ? capabilities : {},
    serverInfo: isRecord(declaredInfo) ? declaredInfo : { name: server, version: '0' },
    instructions: typeof instructions === 'string' ? instructions : undefined,
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
