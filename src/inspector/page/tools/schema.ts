// Schemas of arguments as servers give them: what strangers have written. Only what can be told from them alone is read; no expression
// of theirs is ever run, and nothing is loaded.

export type Members = Readonly<Record<string, unknown>>;

const MAX_HOPS = 20;

export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of a member that is the object's own: `constructor` is a name like any other. */
export function own(members: Members, name: string): unknown {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}

/** What a `$ref` within the schema names; undefined for any other. */
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

/** A schema as a field can be made of it. */
export interface PlainSchema {
  readonly schema: Members;
  /** `null` is a value of it too. */
  readonly isNullable: boolean;
}

/**
 * What is meant by a schema that points elsewhere, or says "this or null", as generators of schemas write it; what is said beside it
 * (`description`, `default`) holds. Undefined where it is anything else.
 */
export function plainSchema(root: unknown, given: unknown): PlainSchema | undefined {
  let schema = given;
  let isNullable = false;
  for (let hop = 0; hop < MAX_HOPS; hop += 1) {
    if (!isObject(schema)) return undefined;
    const { $ref, anyOf, oneOf, allOf, ...beside } = schema;
    const choices = anyOf ?? oneOf;
    if ($ref !== undefined) schema = merged(referenced(root, $ref), beside);
    else if (Array.isArray(allOf) && allOf.length === 1 && choices === undefined)
      schema = merged(allOf[0], beside);
    else if (Array.isArray(choices) && choices.length === 2 && allOf === undefined) {
      const [inner, ...more] = choices.filter((each) => !isNullSchema(each));
      if (inner === undefined || more.length > 0) return { schema, isNullable };
      isNullable = true;
      schema = merged(inner, beside);
    } else return withoutNull(schema, isNullable);
  }
  return undefined;
}

function merged(inner: unknown, beside: Members): Members | undefined {
  return isObject(inner) ? { ...inner, ...beside } : undefined;
}

function isNullSchema(schema: unknown): boolean {
  return isObject(schema) && (schema.type === 'null' || (own(schema, 'const') === null && 'const' in schema));
}

function withoutNull(schema: Members, wasNullable: boolean): PlainSchema {
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
