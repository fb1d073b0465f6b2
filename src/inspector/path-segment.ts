/** Decodes a path segment; returns '' for malformed encoding. */
export function decodeSegment(segment = ''): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}
