// Resolves references (`$ref`) and combinations (`allOf`, `anyOf`, `oneOf`) in a JSON Schema of unknown
// origin: for tools, forms and answers of models. Nothing is fetched or executed. The inspector page in the
// browser imports this file too, so it uses no Node modules.

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Maximum number of references that are followed in a row, because references may be circular. */
const MAX_HOPS = 20;

export function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns an own member: names such as `constructor` are safe. */
export function ownMember(members: JsonSchema, name: string): unknown {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}

/** Resolves a `$ref` within `root`; returns undefined if it refers to another document. */
export function resolveReference(root: unknown, ref: unknown): unknown {
  if (typeof ref !== 'string' || !/^#(\/|$)/.test(ref)) return undefined;
  let found: unknown = root;
  for (const part of ref.split('/').slice(1)) {
    const name = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(found)) found = found[Number(name)];
    else found = isObject(found) ? ownMember(found, name) : undefined;
  }
  return found;
}

/**
 * Resolves `$ref`, and `allOf` with only one schema; other members take precedence. Returns undefined if a
 * reference is invalid.
 */
export function resolveSchema(root: unknown, schema: unknown): JsonSchema | undefined {
  let current = schema;
  for (let hop = 0; hop < MAX_HOPS; hop += 1) {
    if (!isObject(current)) return undefined;
    const { $ref, allOf, ...beside } = current;
    if ($ref !== undefined) current = merged(resolveReference(root, $ref), beside);
    else if (Array.isArray(allOf) && allOf.length === 1) current = merged(allOf[0], beside);
    else return current;
  }
  return undefined;
}

export interface PlainSchema {
  readonly schema: JsonSchema;
  /** True if the schema also accepts `null`. */
  readonly isNullable: boolean;
}

/** Resolves a schema and separates `null`, which generators write as a union of two or a list of types. */
export function plainSchema(root: unknown, input: unknown): PlainSchema | undefined {
  let schema = resolveSchema(root, input);
  let isNullable = false;
  for (let hop = 0; hop < MAX_HOPS && schema !== undefined; hop += 1) {
    const { anyOf, oneOf, ...beside } = schema;
    const choices = anyOf ?? oneOf;
    if (!Array.isArray(choices) || choices.length !== 2 || schema.allOf !== undefined)
      return withoutNull(schema, isNullable);
    const [inner, ...more] = choices.filter((each) => !isNullSchema(each));
    if (inner === undefined || more.length > 0) return { schema, isNullable };
    isNullable = true;
    schema = resolveSchema(root, merged(inner, beside));
  }
  return undefined;
}

/** Returns canonical JSON: equal text for equal values. Members are sorted, undefined members omitted. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? '';
  const names = Object.keys(value)
    .filter((name) => value[name] !== undefined)
    .sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
}

/** Returns true if both values are the same JSON. */
export const isSame = (one: unknown, other: unknown): boolean =>
  typeof one === typeof other && canonical(one) === canonical(other);

function merged(inner: unknown, beside: JsonSchema): JsonSchema | undefined {
  return isObject(inner) ? { ...inner, ...beside } : undefined;
}

function isNullSchema(schema: unknown): boolean {
  return (
    isObject(schema) && (schema.type === 'null' || (ownMember(schema, 'const') === null && 'const' in schema))
  );
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
