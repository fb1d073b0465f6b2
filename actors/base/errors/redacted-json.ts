// Redacts JSON values (A9, ARCHITECTURE.md). Each text and number is redacted separately, because redacting
// the serialised JSON could make it invalid, for example by replacing a number.

/**
 * Returns the redacted value. A number that contains a secret becomes a text. `value` must be serialisable.
 */
export function redactJson<T>(value: T, redact: (text: string) => string): T {
  const redactMember = (_: string, member: unknown): unknown => {
    if (typeof member === 'string') return redact(member);
    if (typeof member === 'number') {
      const digits = redact(String(member));
      return digits === String(member) ? member : digits;
    }
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    // An assignment to a member `__proto__` would set the prototype instead.
    return Object.fromEntries(Object.entries(member).map(([name, each]) => [redact(name), each]));
  };
  return JSON.parse(JSON.stringify(value), redactMember) as T;
}
