/** Returns true for the file name of an MCP bundle, which is a ZIP archive. */
export function isBundlePath(path: string): boolean {
  return /\.(?:mcpb|dxt)$/i.test(path);
}
