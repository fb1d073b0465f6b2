// A tool as one provider accepts it: its schema, and the conversion of its arguments. A union at the root
// becomes one object, and the description lists the alternatives. Members with undeclared names become a
// property that contains them.

import type { OfferedTool } from '../model.ts';
import { ValueConverter } from './convert-values.ts';
import type { SchemaForm } from './limit-texts.ts';
import { PropertyNames } from './property-names.ts';
import { isMembers, type SchemaObject } from './read-limits.ts';
import { readSchema } from './read-schema.ts';
import { SchemaRenderer } from './render-schema.ts';
import { ANY, foldObjects, type ObjectShape, objectShape, type SchemaShape, variantsOf } from './shape.ts';

export interface ToolForm {
  /** With the schema for the provider. */
  readonly tool: OfferedTool;
  /** Converts arguments of earlier calls for the provider. */
  toModel(args: SchemaObject): SchemaObject;
  /** Converts the arguments in a new call to the tool. */
  fromModel(args: SchemaObject): SchemaObject;
}

/** Forms by tool: a run offers the same tools in each request. */
const cache: Readonly<Record<SchemaForm, WeakMap<OfferedTool, { readonly form: ToolForm | undefined }>>> = {
  json: new WeakMap(),
  google: new WeakMap(),
};

/** Returns undefined if no arguments can match the schema. */
export function toolForm(tool: OfferedTool, form: SchemaForm): ToolForm | undefined {
  const cached = cache[form].get(tool) ?? { form: createForm(tool, form) };
  cache[form].set(tool, cached);
  return cached.form;
}

function createForm(tool: OfferedTool, form: SchemaForm): ToolForm | undefined {
  const shape = readSchema(tool.inputSchema);
  const root = rootOf(shape);
  if (root === undefined) return undefined;
  const restName = nameOfRest(root);
  const whole = restName === undefined ? root : withRest(root, restName);
  const names = new PropertyNames(whole, form);
  const renderer = new SchemaRenderer(form, (name) => names.formOf(name));
  const converter = new ValueConverter(form, names);
  const description = [tool.description, alternativesText(shape)].filter((text) => text !== '').join('\n');
  return {
    tool: { ...tool, description, inputSchema: renderer.root(whole) },
    toModel: (args) => converter.toModel(whole, restName === undefined ? args : nest(args, root, restName)),
    fromModel: (args) => {
      const converted = converter.fromModel(whole, args);
      return restName === undefined ? converted : unnest(converted, restName);
    },
  };
}

/** Returns the object of all alternatives; undefined if a required member accepts no value. */
function rootOf(shape: SchemaShape): ObjectShape | undefined {
  if (shape.kind === 'any') return objectShape([]);
  const root = foldObjects(variantsOf(shape));
  if (root === undefined) return undefined;
  const undeclared = [...root.required].filter((name) => !root.properties.has(name));
  return {
    ...root,
    properties: new Map([...root.properties, ...undeclared.map((name) => [name, ANY] as const)]),
  };
}

/** Limit of listed alternatives. */
const MAX_ALTERNATIVES = 8;

/** Lists the required members of the alternatives; empty if they require the same. */
function alternativesText(shape: SchemaShape): string {
  const lists = variantsOf(shape).flatMap((each) =>
    each.kind === 'object' ? [[...each.required].join(' and ')] : [],
  );
  const alternatives = [...new Set(lists)].filter((text) => text !== '');
  if (lists.length < 2 || alternatives.length < 2) return '';
  return `(required: ${alternatives.slice(0, MAX_ALTERNATIVES).join(', or ')})`;
}

/**
 * Returns the name of the property for undeclared members. Undefined if there are none: a permission to add
 * any member to declared properties is mostly a default of the server's library.
 */
function nameOfRest({ properties, rest }: ObjectShape): string | undefined {
  if (rest === undefined || rest.kind === 'never' || (rest.kind === 'any' && properties.size > 0))
    return undefined;
  let name = 'additional_properties';
  while (properties.has(name)) name += '_';
  return name;
}

function withRest(root: ObjectShape, name: string): ObjectShape {
  const members: ObjectShape = {
    ...objectShape([]),
    rest: root.rest,
    description: 'Members with other names.',
  };
  return { ...root, properties: new Map([...root.properties, [name, members]]), rest: undefined };
}

function nest(args: SchemaObject, { properties }: ObjectShape, restName: string): SchemaObject {
  const entries = Object.entries(args);
  const others = entries.filter(([name]) => !properties.has(name));
  const declared = entries.filter(([name]) => properties.has(name));
  return Object.fromEntries(
    others.length === 0 ? declared : [...declared, [restName, Object.fromEntries(others)]],
  );
}

function unnest(args: SchemaObject, restName: string): SchemaObject {
  const { [restName]: others, ...declared } = args;
  return isMembers(others) ? { ...others, ...declared } : declared;
}
