// Converts tool arguments between the tool's schema and the rendered schema: names of properties, and values
// written as text. Values that do not match the schema are unchanged, because servers validate them.

import type { SchemaForm } from './limit-texts.ts';
import type { PropertyNames } from './property-names.ts';
import { isMembers, type SchemaObject } from './read-limits.ts';
import { isWritten } from './render-schema.ts';
import { type ObjectShape, type SchemaShape, unionOf, variantsOf } from './shape.ts';
import { readValue, writeValue } from './written-values.ts';

type Convert = (shape: SchemaShape, value: unknown) => unknown;

export class ValueConverter {
  readonly #form: SchemaForm;
  readonly #names: PropertyNames;

  constructor(form: SchemaForm, names: PropertyNames) {
    this.#form = form;
    this.#names = names;
  }

  /** Converts arguments. A root without properties is an object, not a text. */
  toModel(root: ObjectShape, args: SchemaObject): SchemaObject {
    return this.#membersToModel([root], args);
  }

  fromModel(root: ObjectShape, args: SchemaObject): SchemaObject {
    return this.#membersFromModel([root], args);
  }

  readonly #valueToModel: Convert = (shape, value) => {
    const variants = this.#declared(shape);
    if (Array.isArray(value))
      return mapItems(variants, value, this.#valueToModel) ?? this.#write(shape, value);
    if (!isMembers(value)) return this.#write(shape, value);
    const objects = variants.filter((each) => each.kind === 'object');
    // Another variant of the union may be a text that contains any object.
    const isText = this.#hasWritten(shape) && !objects.some((each) => hasRequired(each, value));
    return isText || objects.length === 0 ? this.#write(shape, value) : this.#membersToModel(objects, value);
  };

  readonly #valueFromModel: Convert = (shape, value) => {
    const variants = this.#declared(shape);
    if (Array.isArray(value)) return mapItems(variants, value, this.#valueFromModel) ?? value;
    if (isMembers(value)) return this.#membersFromModel(variants, value);
    return this.#hasWritten(shape) ? readValue(value) : value;
  };

  #membersToModel(variants: readonly SchemaShape[], value: SchemaObject): SchemaObject {
    return mapMembers(value, (name, each) => {
      const own = propertyOf(variants, name);
      const shape = own ?? restOf(variants);
      return [
        own === undefined ? name : this.#names.formOf(name),
        shape ? this.#valueToModel(shape, each) : each,
      ];
    });
  }

  #membersFromModel(variants: readonly SchemaShape[], value: SchemaObject): SchemaObject {
    return mapMembers(value, (form, each) => {
      const name = this.#names.originalOf(form);
      const own = propertyOf(variants, name);
      const shape = own ?? restOf(variants);
      return [own === undefined ? form : name, shape ? this.#valueFromModel(shape, each) : each];
    });
  }

  #write(shape: SchemaShape, value: unknown): unknown {
    return this.#hasWritten(shape) ? writeValue(value) : value;
  }

  /** Variants that are not written as text. */
  #declared(shape: SchemaShape): readonly SchemaShape[] {
    return variantsOf(shape).filter((each) => !isWritten(each, this.#form));
  }

  #hasWritten(shape: SchemaShape): boolean {
    return variantsOf(shape).some((each) => isWritten(each, this.#form));
  }
}

const hasRequired = ({ required }: ObjectShape, value: SchemaObject) =>
  [...required].every((name) => Object.hasOwn(value, name));

/** Undefined if no variant is an array. */
function mapItems(
  variants: readonly SchemaShape[],
  value: readonly unknown[],
  convert: Convert,
): unknown[] | undefined {
  const items = variants.flatMap((each) => (each.kind === 'array' ? [each.items] : []));
  if (items.length === 0) return undefined;
  const shape = unionOf(items);
  return value.map((each) => convert(shape, each));
}

function propertyOf(variants: readonly SchemaShape[], name: string): SchemaShape | undefined {
  const shapes = variants.flatMap((each) =>
    each.kind === 'object' ? (each.properties.get(name) ?? []) : [],
  );
  return shapes.length === 0 ? undefined : unionOf(shapes);
}

function restOf(variants: readonly SchemaShape[]): SchemaShape | undefined {
  const shapes = variants.flatMap((each) => (each.kind === 'object' ? (each.rest ?? []) : []));
  return shapes.length === 0 ? undefined : unionOf(shapes);
}

const mapMembers = (value: SchemaObject, map: (name: string, value: unknown) => [string, unknown]) =>
  Object.fromEntries(Object.entries(value).map(([name, each]) => map(name, each)));
