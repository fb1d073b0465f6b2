// Members of a payload by a path with dots, `pull_request.head.ref`. Payloads come from outside: whatever is not where
// it should be is undefined, and never a fault.

/** Paths are written in the code or by an operator; each is taken apart once. */
const namesOf = new Map<string, readonly string[]>();

/** The value at a path; undefined where there is none. Elements of a list have their numbers for names. */
export function memberOf(payload: unknown, path: string): unknown {
  let names = namesOf.get(path);
  if (names === undefined) {
    names = path.split('.');
    namesOf.set(path, names);
  }
  let value = payload;
  for (const name of names) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

/** The value at the first of the paths that has a text. */
export function textMember(payload: unknown, ...paths: readonly string[]): string | undefined {
  for (const path of paths) {
    const value = memberOf(payload, path);
    if (typeof value === 'string') return value;
  }
  return undefined;
}

/** The value at a path, if it is a whole number above 0, as those of issues are. */
export function numberMember(payload: unknown, path: string): number | undefined {
  const value = memberOf(payload, path);
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
