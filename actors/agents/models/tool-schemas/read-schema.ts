// Reads a JSON Schema of any draft, or an OpenAPI schema, into a shape. References are resolved; a recursive
// reference is followed MAX_REPEATS times. Schemas are untrusted: levels and nodes are limited, and a schema
// beyond the limits accepts any value. Unknown keywords are ignored.

import { isMembers, readLimits, type SchemaObject } from './read-limits.ts';
import { resolveReference } from './references.ts';
import {
  ANY,
  intersectionOf,
  NEVER,
  type ObjectShape,
  objectShape,
  type ScalarType,
  type SchemaShape,
  unionOf,
  withDescription,
} from './shape.ts';
import { impliedTypes, typeNames, typeOfValue } from './type-names.ts';

/** Nesting of properties and items. Some providers reject deeper schemas. */
const MAX_LEVELS = 10;
/** Limit per tool, after the references are resolved. */
const MAX_NODES = 2_000;
const MAX_REPEATS = 2;
const MAX_VALUES = 500;

export function readSchema(schema: unknown): SchemaShape {
  return new ToolSchemaReader(schema).read(schema, 0, []);
}

class ToolSchemaReader {
  readonly #root: unknown;
  #nodes = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  /** `refs` are the references that led here. */
  read(schema: unknown, level: number, refs: readonly string[]): SchemaShape {
    this.#nodes += 1;
    if (schema === false) return NEVER;
    if (!isMembers(schema)) return ANY;
    const description = textOf(schema.description) ?? textOf(schema.title);
    if (level > MAX_LEVELS || this.#nodes > MAX_NODES) return withDescription(ANY, description);
    const readHere = (each: unknown) => this.read(each, level, refs);
    const all = [
      this.#ownShape(schema, level, refs),
      ...this.#referenced(schema, level, refs),
      ...listOf(schema.allOf).map(readHere),
      ...[schema.anyOf, schema.oneOf]
        .map(listOf)
        .flatMap((list) => (list.length > 0 ? [unionOf(list.map(readHere))] : [])),
      ...(acceptsNothing(schema.not) ? [NEVER] : []),
    ];
    const shape = all.reduce(intersectionOf);
    const conditional = conditionalSchemas(schema).map(readHere);
    return withDescription(withoutNever(conditional.reduce(withOptional, shape)), description);
  }

  /** Returns the shape of the schema, with references and compositions resolved. */
  #ownShape(schema: SchemaObject, level: number, refs: readonly string[]): SchemaShape {
    const values = valuesIn(schema);
    const declared = typeNames(schema.type);
    const fits = (type: string) => values === undefined || values.some((value) => isOfType(value, type));
    const types = declared?.some(fits) === true ? declared.filter(fits) : undefined;
    const used =
      types ?? (values === undefined ? (declared ?? impliedTypes(schema)) : values.map(typeOfValue));
    if (used === undefined) return ANY;
    const nullable = schema.nullable === true ? ['null'] : [];
    return unionOf(
      [...new Set([...used, ...nullable])].map((type) => this.#ofType(type, schema, values, level, refs)),
    );
  }

  #ofType(
    type: string,
    schema: SchemaObject,
    values: readonly unknown[] | undefined,
    level: number,
    refs: readonly string[],
  ): SchemaShape {
    if (type === 'object') return this.#object(schema, level, refs);
    const limits = readLimits(type, schema);
    if (type === 'array') return { kind: 'array', items: this.#items(schema, level, refs), limits };
    const own = values?.filter((value) => isOfType(value, type));
    const isListed = own !== undefined && own.length > 0 && own.length <= MAX_VALUES && type !== 'null';
    return { kind: 'scalar', type: type as ScalarType, values: isListed ? own : undefined, limits };
  }

  #object(schema: SchemaObject, level: number, refs: readonly string[]): ObjectShape {
    const properties = isMembers(schema.properties) ? Object.entries(schema.properties) : [];
    const shapes = properties.map(([name, each]) => [name, this.read(each, level + 1, refs)] as const);
    const required = [
      ...listOf(schema.required).filter((name) => typeof name === 'string'),
      // Draft 3.
      ...properties.flatMap(([name, each]) => (isMembers(each) && each.required === true ? [name] : [])),
    ];
    return { ...objectShape(shapes), required: new Set(required), rest: this.#rest(schema, level, refs) };
  }

  /** Shape of members that `properties` does not name. */
  #rest(schema: SchemaObject, level: number, refs: readonly string[]): SchemaShape | undefined {
    const { additionalProperties, unevaluatedProperties, patternProperties } = schema;
    const schemas = [
      ...[additionalProperties, unevaluatedProperties].filter((each) => each === true || isMembers(each)),
      ...(isMembers(patternProperties) ? Object.values(patternProperties) : []),
    ];
    if (schemas.length === 0) return undefined;
    return unionOf(schemas.map((each) => this.read(each, level + 1, refs)));
  }

  /** Tuples become arrays: the members of each position are accepted at every position. */
  #items(
    { items, prefixItems, additionalItems }: SchemaObject,
    level: number,
    refs: readonly string[],
  ): SchemaShape {
    const positions = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
    const others = Array.isArray(items) ? additionalItems : items;
    const rest = isMembers(others) ? [others] : [];
    const schemas = [...positions, ...rest];
    const shape =
      schemas.length === 0 ? ANY : unionOf(schemas.map((each) => this.read(each, level + 1, refs)));
    return shape.kind === 'never' ? ANY : shape;
  }

  #referenced(schema: SchemaObject, level: number, refs: readonly string[]): SchemaShape[] {
    const ref = [schema.$ref, schema.$dynamicRef, schema.$recursiveRef]
      .map(textOf)
      .find((each) => each !== undefined);
    if (ref === undefined) return [];
    if (refs.filter((each) => each === ref).length >= MAX_REPEATS) return [ANY];
    return [this.read(resolveReference(this.#root, ref), level, [...refs, ref])];
  }
}

/** Removes impossible members; an object that requires one is impossible itself. */
function withoutNever(shape: SchemaShape): SchemaShape {
  if (shape.kind === 'union')
    return withDescription(unionOf(shape.variants.map(withoutNever)), shape.description);
  if (shape.kind !== 'object') return shape;
  const possible = [...shape.properties].filter(([, each]) => each.kind !== 'never');
  if (possible.length === shape.properties.size) return shape;
  const properties = new Map(possible);
  const isImpossible = [...shape.required].some(
    (name) => shape.properties.has(name) && !properties.has(name),
  );
  return isImpossible ? NEVER : { ...shape, properties };
}

const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const acceptsNothing = (not: unknown) => not === true || (isMembers(not) && Object.keys(not).length === 0);

function valuesIn(schema: SchemaObject): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, 'const')) return [schema.const];
  const values = [...new Set(listOf(schema.enum))];
  return values.length === 0 ? undefined : values;
}

function isOfType(value: unknown, type: string): boolean {
  const own = typeOfValue(value);
  return own === type || (own === 'integer' && type === 'number');
}

/** Schemas that apply under a condition. */
function conditionalSchemas(schema: SchemaObject): readonly unknown[] {
  const { dependentSchemas, dependencies } = schema;
  const byProperty = [dependentSchemas, dependencies].flatMap((each) =>
    isMembers(each) ? Object.values(each) : [],
  );
  return [schema.then, schema.else, ...byProperty].filter(isMembers);
}

/** Adds a conditional schema's properties, as optional ones. */
function withOptional(shape: SchemaShape, conditional: SchemaShape): SchemaShape {
  if (conditional.kind !== 'object' || (shape.kind !== 'object' && shape.kind !== 'any')) return shape;
  const { kind: _, ...own } = shape;
  const base: ObjectShape = shape.kind === 'object' ? shape : { ...objectShape([]), ...own };
  return { ...base, properties: new Map([...conditional.properties, ...base.properties]) };
}
