// Parts of a JSON Schema by references and combinations, for schemas of unknown origin: tools, forms and answers. Nothing is fetched
// or run. The inspector's page imports it too, so it needs nothing of Node.

export type JsonSchema = Readonly<Record<string, unknown>>;

/** References may form a circle. */
const MAX_HOPS = 20;

export function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value of an own member: `constructor` is a name like any other. */
export function own(members: JsonSchema, name: string): unknown {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}

/** Returns the target of a `$ref` within `root`; undefined for any other. */
export function referenced(root: unknown, ref: unknown): unknown {
  if (typeof ref !== 'string' || !/^#(\/|$)/.test(ref)) return undefined;
  let found: unknown = root;
  for (const part of ref.split('/').slice(1)) {
    const name = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(found)) found = found[Number(name)];
    else found = isObject(found) ? own(found, name) : undefined;
  }
  return found;
}

/** Replaces `$ref`, and an `allOf` of one schema; members beside them have priority. Undefined for a reference to nothing. */
export function resolved(root: unknown, schema: unknown): JsonSchema | undefined {
  let current = schema;
  for (let hop = 0; hop < MAX_HOPS; hop += 1) {
    if (!isObject(current)) return undefined;
    const { $ref, allOf, ...beside } = current;
    if ($ref !== undefined) current = merged(referenced(root, $ref), beside);
    else if (Array.isArray(allOf) && allOf.length === 1) current = merged(allOf[0], beside);
    else return current;
  }
  return undefined;
}

export interface PlainSchema {
  readonly schema: JsonSchema;
  /** True if the schema accepts `null` as well. */
  readonly isNullable: boolean;
}

/** Resolves a schema, and takes `null` out of it as generators write it: a union of two, or a list of types. */
export function plainSchema(root: unknown, given: unknown): PlainSchema | undefined {
  let schema = resolved(root, given);
  let isNullable = false;
  for (let hop = 0; hop < MAX_HOPS && schema !== undefined; hop += 1) {
    const { anyOf, oneOf, ...beside } = schema;
    const choices = anyOf ?? oneOf;
    if (!Array.isArray(choices) || choices.length !== 2 || schema.allOf !== undefined)
      return withoutNull(schema, isNullable);
    const [inner, ...more] = choices.filter((each) => !isNullSchema(each));
    if (inner === undefined || more.length > 0) return { schema, isNullable };
    isNullable = true;
    schema = resolved(root, merged(inner, beside));
  }
  return undefined;
}

/** Returns JSON text that is equal for equal values. Members are sorted; undefined ones are left out. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? '';
  const names = Object.keys(value)
    .filter((name) => value[name] !== undefined)
    .sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
}

/** Returns true if two values are the same JSON. */
export const isSame = (one: unknown, other: unknown): boolean =>
  typeof one === typeof other && canonical(one) === canonical(other);

function merged(inner: unknown, beside: JsonSchema): JsonSchema | undefined {
  return isObject(inner) ? { ...inner, ...beside } : undefined;
}

function isNullSchema(schema: unknown): boolean {
  return isObject(schema) && (schema.type === 'null' || (own(schema, 'const') === null && 'const' in schema));
}

function withoutNull(schema: JsonSchema, wasNullable: boolean): PlainSchema {
  const { type } = schema;
  if (!Array.isArray(type) || !type.includes('null')) return { schema, isNullable: wasNullable };
  const rest = type.filter((each) => each !== 'null');
  return { schema: { ...schema, type: rest.length === 1 ? rest[0] : rest }, isNullable: true };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
