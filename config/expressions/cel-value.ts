// Prepares JSON for expressions in CEL (Common Expression Language). The CEL library detects types by the
// property `constructor`, so it refuses an object with a member of this name. A Map hides its members from
// this check.

const prepared = new WeakMap<object, unknown>();

/** Returns a value with Maps instead of the objects that have a member `constructor`. Results are cached. */
export function celValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const cached = prepared.get(value);
  if (cached !== undefined) return cached;
  const result = converted(value);
  prepared.set(value, result);
  return result;
}

/** Returns a Map instead of an object that has a member `constructor`, at the first level only. */
export function celMap(members: Readonly<Record<string, unknown>>): unknown {
  return Object.hasOwn(members, 'constructor') ? new Map(Object.entries(members)) : members;
}

/** Returns the value itself if nothing in it is converted. */
function converted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(converted);
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const before = Object.entries(value);
  const after = before.map(([name, member]) => [name, converted(member)] as const);
  const isEqual = after.every(([, member], index) => member === before[index]?.[1]);
  if (!isEqual || Object.hasOwn(value, 'constructor')) return new Map(after);
  return value;
}
