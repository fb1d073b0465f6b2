// Headers that the gateway sets itself in requests to remote servers. They frame the message or belong to the
// protocol; a second value would break the request.

const ownHeaders: ReadonlySet<string> = new Set([
  'accept',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Returns true for a header that the catalog must not set; case-insensitive. */
export function isOwnHeader(name: string): boolean {
  return ownHeaders.has(name.toLowerCase());
}
