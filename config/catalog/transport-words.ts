// Words for the transports of MCP servers in files of other programs.

/** Returns the gateway's name of the transport; undefined for an unknown word. */
export function transportOf(word: string): 'stdio' | 'http' | 'sse' | undefined {
  const name = word.toLowerCase().replace(/[ _-]/g, '');
  if (name === 'stdio' || name === 'sse') return name;
  return /^(?:http|https|streamablehttp|streamable)$/.test(name) ? 'http' : undefined;
}
