// Shape of tool arguments: the part of JSON Schema that every provider can express. Schemas are read into
// shapes (read-schema.ts) and rendered for one provider (render-schema.ts). Constraints that contradict each
// other never make a shape impossible, because servers validate the arguments; only `false` does.

interface Described {
  readonly description?: string | undefined;
}

export type ScalarType = 'string' | 'number' | 'integer' | 'boolean' | 'null';
/** Keywords such as `minLength`, with valid values. */
export type SchemaLimits = Readonly<Record<string, unknown>>;

export interface ScalarShape extends Described {
  readonly kind: 'scalar';
  readonly type: ScalarType;
  /** Permitted values of this type, without duplicates. */
  readonly values: readonly unknown[] | undefined;
  readonly limits: SchemaLimits;
}

export interface ArrayShape extends Described {
  readonly kind: 'array';
  readonly items: SchemaShape;
  readonly limits: SchemaLimits;
}

export interface ObjectShape extends Described {
  readonly kind: 'object';
  readonly properties: ReadonlyMap<string, SchemaShape>;
  readonly required: ReadonlySet<string>;
  /** Shape of undeclared members; undefined if the schema declares none. */
  readonly rest: SchemaShape | undefined;
}

interface UnionShape extends Described {
  readonly kind: 'union';
  /** At least two, without unions. */
  readonly variants: readonly SchemaShape[];
}

export type SchemaShape =
  | (Described & { readonly kind: 'any' | 'never' })
  | ScalarShape
  | ArrayShape
  | ObjectShape
  | UnionShape;

export const ANY: SchemaShape = { kind: 'any' };
export const NEVER: SchemaShape = { kind: 'never' };
/** Limit of variants. More variants become one object, or any value. */
const MAX_VARIANTS = 32;
/** Limit of combined variants of two unions; above it, the first union counts. */
const MAX_PAIRS = 64;

export function objectShape(properties: Iterable<readonly [string, SchemaShape]>): ObjectShape {
  return { kind: 'object', properties: new Map(properties), required: new Set(), rest: undefined };
}

export function variantsOf(shape: SchemaShape): readonly SchemaShape[] {
  return shape.kind === 'union' ? shape.variants : [shape];
}

/** Replaces the description, unless the text is empty. */
export function withDescription(shape: SchemaShape, description: string | undefined): SchemaShape {
  return description === undefined || description === '' ? shape : { ...shape, description };
}

/** Returns a shape for values that match any of the shapes. */
export function unionOf(shapes: readonly SchemaShape[]): SchemaShape {
  const all = shapes.flatMap(variantsOf).filter(({ kind }) => kind !== 'never');
  const any = all.find(({ kind }) => kind === 'any');
  if (any !== undefined) return any;
  /** Scalars by type, and other shapes by content. */
  const variants = new Map<string, SchemaShape>();
  for (const shape of all) {
    const key = shape.kind === 'scalar' ? shape.type : textOf(shape);
    const own = variants.get(key);
    variants.set(key, own === undefined ? shape : mergeValues(own, shape));
  }
  const [first = NEVER, ...others] = variants.values();
  if (others.length === 0) return first;
  const union: SchemaShape = { kind: 'union', variants: [first, ...others] };
  return variants.size <= MAX_VARIANTS ? union : (foldObjects(union.variants) ?? ANY);
}

const textOf = (shape: SchemaShape) => JSON.stringify(plain(shape));

/** Returns a shape whose JSON text contains every member. */
function plain(shape: SchemaShape): unknown {
  if (shape.kind === 'array') return { ...shape, items: plain(shape.items) };
  if (shape.kind === 'union') return { ...shape, variants: shape.variants.map(plain) };
  if (shape.kind !== 'object') return shape;
  const properties = [...shape.properties].map(([name, each]) => [name, plain(each)]);
  return { ...shape, properties, required: [...shape.required], rest: shape.rest && plain(shape.rest) };
}

/**
 * Returns one object for values that match any of the objects: only members that all of them require are
 * required. Other shapes are omitted; undefined without objects.
 */
export function foldObjects(shapes: readonly SchemaShape[]): ObjectShape | undefined {
  const objects = shapes.filter((shape) => shape.kind === 'object');
  const [first, ...others] = objects;
  if (first === undefined) return undefined;
  const names = new Set(objects.flatMap(({ properties }) => [...properties.keys()]));
  const properties = [...names].map((name) => {
    const found = objects.flatMap((each) => each.properties.get(name) ?? []);
    return [name, withDescription(unionOf(found), found[0]?.description)] as const;
  });
  const required = [...first.required].filter((name) => others.every((each) => each.required.has(name)));
  const rest = objects.flatMap((each) => each.rest ?? []);
  return {
    ...first,
    properties: new Map(properties),
    required: new Set(required),
    rest: rest.length === 0 ? undefined : unionOf(rest),
  };
}

/** Merges two scalars of one type, or returns the first of two equal shapes. */
function mergeValues(a: SchemaShape, b: SchemaShape): SchemaShape {
  if (a.kind !== 'scalar' || b.kind !== 'scalar') return a;
  const values = a.values && b.values && [...new Set([...a.values, ...b.values])];
  const limits = JSON.stringify(a.limits) === JSON.stringify(b.limits) ? a.limits : {};
  return { ...a, values, limits, description: a.description ?? b.description };
}

/**
 * Returns a shape for the values that both shapes accept. Contradictory kinds yield the first shape.
 */
export function intersectionOf(a: SchemaShape, b: SchemaShape): SchemaShape {
  const description = a.description ?? b.description;
  if (a.kind === 'never' || b.kind === 'never') return NEVER;
  if (b.kind === 'any') return { ...a, description };
  if (a.kind === 'any') return { ...b, description };
  if (a.kind === 'union' || b.kind === 'union') return { ...intersectVariants(a, b), description };
  return { ...intersectKinds(a, b), description };
}

/** Combines the variants of equal kinds; without such a pair, returns the first shape. */
function intersectVariants(a: SchemaShape, b: SchemaShape): SchemaShape {
  const pairs = variantsOf(a).flatMap((each) =>
    variantsOf(b)
      .filter((other) => isCompatible(each, other))
      .map((other) => [each, other] as const),
  );
  return pairs.length === 0 || pairs.length > MAX_PAIRS
    ? a
    : unionOf(pairs.map(([each, other]) => intersectionOf(each, other)));
}

const isNumber = (shape: SchemaShape) =>
  shape.kind === 'scalar' && (shape.type === 'number' || shape.type === 'integer');

function isCompatible(a: SchemaShape, b: SchemaShape): boolean {
  if (a.kind !== 'scalar' || b.kind !== 'scalar') return a.kind === b.kind;
  return a.type === b.type || (isNumber(a) && isNumber(b));
}

function intersectKinds(a: SchemaShape, b: SchemaShape): SchemaShape {
  if (!isCompatible(a, b)) return a;
  if (a.kind === 'array' && b.kind === 'array')
    return { ...a, items: intersectionOf(a.items, b.items), limits: { ...a.limits, ...b.limits } };
  if (a.kind === 'object' && b.kind === 'object') return intersectObjects(a, b);
  if (a.kind !== 'scalar' || b.kind !== 'scalar') return a;
  const common = a.values && b.values ? a.values.filter((each) => b.values?.includes(each)) : undefined;
  const values = common === undefined ? (a.values ?? b.values) : common.length > 0 ? common : a.values;
  const type = a.type === 'integer' ? a.type : b.type;
  return { ...a, type, values, limits: { ...a.limits, ...b.limits } };
}

function intersectObjects(a: ObjectShape, b: ObjectShape): ObjectShape {
  const properties = new Map(a.properties);
  for (const [name, shape] of b.properties) {
    const own = properties.get(name);
    properties.set(name, own === undefined ? shape : intersectionOf(own, shape));
  }
  return { ...a, properties, required: new Set([...a.required, ...b.required]), rest: a.rest ?? b.rest };
}
