// What a server says of itself at `initialize` or `server/discover`. It is kept, so that a sleeping server can still be introduced.

import { UpstreamProtocolError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { metaKeys, modernVersion } from '../../jsonrpc/modern-meta.ts';
import { resultOf } from '../calls/result-of.ts';

/** The revisions of the session era that the gateway speaks, newest first. */
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

/** Reads the answer to `initialize`. Throws UpstreamProtocolError when the server cannot be spoken with. */
export function readDescription(server: string, answer: Envelope): ServerDescription {
  const result = resultOf(server, 'initialize', answer);
  const { protocolVersion, capabilities, serverInfo, instructions } = result;
  if (!isSessionVersion(protocolVersion)) {
    throw new UpstreamProtocolError(
      `server ${server} wants protocol version ${JSON.stringify(protocolVersion)}; ` +
        `the gateway speaks ${sessionVersions.join(', ')}`,
    );
  }
  return {
    protocolVersion,
    capabilities: isRecord(capabilities) ? capabilities : {},
    // Required, but missing in some servers; a modern client is told with each result.
    serverInfo: isRecord(serverInfo) ? serverInfo : { name: server, version: '0' },
    instructions: typeof instructions === 'string' ? instructions : undefined,
  };
}

/** Reads the answer to `server/discover` (2026-07-28). Throws UpstreamProtocolError when the server cannot be spoken with. */
export function readDiscovery(server: string, answer: Envelope): ServerDescription {
  const result = resultOf(server, 'server/discover', answer);
  const { supportedVersions, capabilities, instructions, _meta: meta } = result;
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(modernVersion)) {
    throw new UpstreamProtocolError(
      `server ${server} speaks ${JSON.stringify(supportedVersions)?.slice(0, 200)}; of the modern era ` +
        `the gateway speaks ${modernVersion}`,
    );
  }
  const said = isRecord(meta) ? meta[metaKeys.serverInfo] : undefined;
  return {
    protocolVersion: modernVersion,
    capabilities: isRecord(capabilities) ? capabilities : {},
    serverInfo: isRecord(said) ? said : { name: server, version: '0' },
    instructions: typeof instructions === 'string' ? instructions : undefined,
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
