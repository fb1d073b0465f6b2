// Canonical JSON: equal values yield the same text, independent of member order.

/** Returns the text without undefined members. Throws RangeError if the value is nested too deeply. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => ordered(member)) ?? 'null';
}

function ordered(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  // An assignment to a member named __proto__ would set the prototype.
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
