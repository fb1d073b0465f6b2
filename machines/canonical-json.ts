// JSON in which the order of members makes no difference: two values that are equal give the same text.

/** Members without a value are left out. Throws RangeError for what is nested too deeply. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => ordered(member)) ?? 'null';
}

function ordered(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  // Of a member that is called __proto__ an assignment would make something else.
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
