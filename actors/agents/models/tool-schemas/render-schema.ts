// Renders shapes as schemas for a provider. Every provider accepts the result:
//
// TS1  The root is an object with only `type`, `properties` and `required`. Each other schema has a type, or
//      is a union of such schemas, or accepts any value. Arrays have `items`, objects have `properties`, and
//      every required member has a schema. There are no references.
// TS2  In the `google` form every object has members, only strings have `enum`, a union has no other keyword,
//      and the only format is `date-time`.
//
// Limits that a provider may reject are part of the description. In the `google` form, values of undeclared
// shape are texts: objects and arrays as JSON (convert-values.ts).

import { limitTexts, type SchemaForm, splitLimits } from './limit-texts.ts';
import type { SchemaObject } from './read-limits.ts';
import { type ObjectShape, type ScalarShape, type SchemaShape, variantsOf } from './shape.ts';

/** Returns true for shapes whose values are texts in the `google` form. */
export function isWritten(shape: SchemaShape, form: SchemaForm): boolean {
  return (
    form === 'google' && (shape.kind === 'any' || (shape.kind === 'object' && shape.properties.size === 0))
  );
}

const scalar = (type: ScalarShape['type'], description?: string): ScalarShape => ({
  kind: 'scalar',
  type,
  values: undefined,
  limits: {},
  description,
});

/** The `google` form of any value. */
const writtenAny: SchemaShape = {
  kind: 'union',
  variants: [
    scalar('string', '(an object or an array is written as JSON)'),
    scalar('number'),
    scalar('boolean'),
    scalar('null'),
  ],
};
const writtenObject = scalar('string', '(a JSON object, written as text)');

type SingleShape = Exclude<SchemaShape, { readonly kind: 'union' }>;

export class SchemaRenderer {
  readonly #form: SchemaForm;
  readonly #nameOf: (property: string) => string;

  /** `nameOf` returns the name of a property for the provider. */
  constructor(form: SchemaForm, nameOf: (property: string) => string) {
    this.#form = form;
    this.#nameOf = nameOf;
  }

  /** Renders the root; its description belongs to the tool and is omitted. */
  root(shape: ObjectShape): SchemaObject {
    return { type: 'object', ...this.#members(shape) };
  }

  #schema(shape: SchemaShape): SchemaObject {
    if (isWritten(shape, this.#form)) {
      const { description } = shape;
      if (shape.kind === 'any') return this.#union({ ...writtenAny, description });
      return this.#schema({
        ...writtenObject,
        description: joined([description, writtenObject.description]),
      });
    }
    if (shape.kind === 'union') return this.#union(shape);
    const { accepted, rejected } = splitLimits(shape, this.#form);
    const description = joined([shape.description, limitTexts(rejected)]);
    return { ...this.#typed(shape), ...accepted, ...(description === undefined ? {} : { description }) };
  }

  #typed(shape: SingleShape): SchemaObject {
    switch (shape.kind) {
      case 'any':
      case 'never':
        return {};
      case 'scalar':
        return { type: shape.type };
      case 'array':
        return { type: 'array', items: this.#schema(shape.items) };
      case 'object': {
        const { rest } = shape;
        const isTyped =
          this.#form === 'json' && rest !== undefined && rest.kind !== 'any' && rest.kind !== 'never';
        return {
          type: 'object',
          ...this.#members(shape),
          ...(isTyped ? { additionalProperties: this.#schema(rest) } : {}),
        };
      }
    }
  }

  #members({ properties, required }: ObjectShape): SchemaObject {
    const schemas = [...properties].map(
      ([name, each]) => [this.#nameOf(name), this.#property(name, each)] as const,
    );
    const names = [...required].filter((name) => properties.has(name)).map(this.#nameOf);
    return { properties: Object.fromEntries(schemas), ...(names.length === 0 ? {} : { required: names }) };
  }

  /** Adds the original name to a renamed property's description: server texts may mention it. */
  #property(name: string, shape: SchemaShape): SchemaObject {
    if (this.#nameOf(name) === name) return this.#schema(shape);
    return this.#schema({
      ...shape,
      description: joined([shape.description, `(name: ${JSON.stringify(name)})`]),
    });
  }

  #union(shape: SchemaShape): SchemaObject {
    const variants = variantsOf(shape);
    const isNullable = variants.some(isNull);
    const [first = scalar('null'), ...others] = variants.filter((each) => !isNull(each));
    const description = joined([shape.description, first.description]);
    if (this.#form === 'json' && (others.length > 0 || first.kind !== 'scalar')) {
      const schemas = [first, ...others].map((each) => this.#schema(each));
      const anyOf = isNullable ? [...schemas, { type: 'null' }] : schemas;
      return { anyOf, ...(shape.description === undefined ? {} : { description: shape.description }) };
    }
    const schemas = [{ ...first, description }, ...others]
      .map((each) => this.#schema(each))
      .flatMap(alternatives);
    const [head = {}, ...tail] = schemas;
    const nullable = isNullable ? withNull(head) : head;
    return tail.length === 0 ? nullable : { anyOf: [nullable, ...tail] };
  }
}

const isNull = (shape: SchemaShape) => shape.kind === 'scalar' && shape.type === 'null';

const alternatives = (schema: SchemaObject): readonly SchemaObject[] =>
  (schema.anyOf as SchemaObject[] | undefined) ?? [schema];

function withNull(schema: SchemaObject): SchemaObject {
  const { type, enum: values } = schema;
  return { ...schema, type: [type, 'null'], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) };
}

function joined(texts: readonly (string | undefined)[]): string | undefined {
  const text = texts.filter((each) => each !== undefined && each !== '').join(' ');
  return text === '' ? undefined : text;
}
