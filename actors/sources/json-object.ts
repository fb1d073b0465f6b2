// A body that has to be a JSON object: nearly every platform sends one.

/** Undefined for what is no JSON, and for JSON that is no object. */
export function jsonObjectIn(body: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  const { buffer, byteOffset, byteLength } = body;
  try {
    const value: unknown = JSON.parse(Buffer.from(buffer, byteOffset, byteLength).toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}
