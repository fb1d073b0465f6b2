/** Returns a segment of a path without percent encoding; '' if it is malformed, which names nothing. */
export function decodedSegment(segment = ''): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}
