/** Decodes a path segment; returns '' for malformed encoding. */
export function decodedSegment(segment = ''): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}
