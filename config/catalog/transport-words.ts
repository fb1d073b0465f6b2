// Words of other programs for the transports of MCP servers.

/** Returns the transport; undefined for unknown words. */
export function transportOf(word: string): 'stdio' | 'http' | 'sse' | undefined {
  const name = word.toLowerCase().replace(/[ _-]/g, '');
  if (name === 'stdio' || name === 'sse') return name;
  return /^(?:http|https|streamablehttp|streamable)$/.test(name) ? 'http' : undefined;
}
