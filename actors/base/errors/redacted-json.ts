// JSON values as people may see them (A9). Each text in a value is redacted by itself: redacted as one text of JSON a number that is
// the same as a secret would leave no JSON at all.

/** The same value with secrets struck out; a number that holds one becomes a text. `value` is nested as deeply as can be written. */
export function redactedJson<T>(value: T, redact: (text: string) => string): T {
  const shown = (_: string, member: unknown): unknown => {
    if (typeof member === 'string') return redact(member);
    if (typeof member === 'number') {
      const digits = redact(String(member));
      return digits === String(member) ? member : digits;
    }
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    // Of a member that is called __proto__ an assignment would make something else.
    return Object.fromEntries(Object.entries(member).map(([name, each]) => [redact(name), each]));
  };
  return JSON.parse(JSON.stringify(value), shown) as T;
}
