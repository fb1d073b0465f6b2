// Headers that the gateway sets itself in its requests to remote servers. They frame the message or belong to the protocol; a
// second value would break either.

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

/** Whether no catalog may set this header; case does not count. */
export function isOwnHeader(name: string): boolean {
  return ownHeaders.has(name.toLowerCase());
}
