// Presents the published schemas as a tree of fields with readable paths, for the command `explain`:
// `gateway.limits.body_bytes`, `trigger.spec.config.path`. Lists and maps do not add a level
// (`catalog.servers.command`). Conditional parts, such as trigger type settings, have the condition attached.

import { jsonSchemas } from './json-schemas.ts';

export type SchemaKind = keyof typeof jsonSchemas;

export const kinds = Object.keys(jsonSchemas) as readonly SchemaKind[];

/** Published schema or a part of it. */
export interface PublishedSchema {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, PublishedSchema | boolean>>;
  readonly patternProperties?: Readonly<Record<string, PublishedSchema>>;
  readonly additionalProperties?: PublishedSchema | boolean;
  readonly required?: readonly string[];
  readonly items?: PublishedSchema;
  readonly maxItems?: number;
  readonly anyOf?: readonly PublishedSchema[];
  readonly allOf?: readonly PublishedSchema[];
  readonly if?: PublishedSchema;
  readonly then?: PublishedSchema;
  readonly else?: PublishedSchema;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly patternErrorMessage?: string;
  readonly writeOnly?: boolean;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, PublishedSchema>>;
}

/** Field definition in a schema. */
interface FieldDefinition {
  readonly schema: PublishedSchema;
  /** Type (of the trigger or node) to which the definition applies; undefined for all types. */
  readonly when: string | undefined;
}

export interface SchemaField {
  readonly kind: SchemaKind;
  /** Path below the kind; empty for the kind itself. */
  readonly path: readonly string[];
  readonly isRequired: boolean;
  /** At least one definition; the general definition is first. */
  readonly definitions: readonly FieldDefinition[];
}

export function rootField(kind: SchemaKind): SchemaField {
  return {
    kind,
    path: [],
    isRequired: false,
    definitions: [{ schema: jsonSchemas[kind] as PublishedSchema, when: undefined }],
  };
}

/** Returns a path such as `gateway.limits.body_bytes`. */
export const dottedPath = ({ kind, path }: SchemaField): string => [kind, ...path].join('.');

/** Returns the field's direct members by name, in schema order. */
export function membersOf(field: SchemaField): ReadonlyMap<string, SchemaField> {
  const members = new Map<string, SchemaField>();
  for (const { schema, when } of field.definitions)
    collect(resolveDefinition(schema, field.kind), when, (name, isRequired, definition) => {
      const known = members.get(name);
      members.set(name, {
        kind: field.kind,
        path: [...field.path, name],
        isRequired: isRequired || known?.isRequired === true,
        definitions: [...(known?.definitions ?? []), definition],
      });
    });
  return members;

  function collect(
    schema: PublishedSchema,
    when: string | undefined,
    add: (name: string, isRequired: boolean, definition: FieldDefinition) => void,
  ): void {
    const inner = (part: PublishedSchema | boolean | undefined, whenThere = when): void => {
      if (typeof part === 'object') collect(resolveDefinition(part, field.kind), whenThere, add);
    };
    const required = [...(schema.required ?? []), ...(schema.else?.required ?? [])];
    for (const [name, member] of Object.entries(schema.properties ?? {}))
      if (typeof member === 'object') add(name, required.includes(name), { schema: member, when });
    for (const part of [...(schema.anyOf ?? []), ...(schema.allOf ?? [])]) inner(part);
    for (const part of Object.values(schema.patternProperties ?? {})) inner(part);
    inner(schema.additionalProperties);
    inner(schema.items);
    inner(schema.then, conditionOf(schema.if) ?? when);
    inner(schema.else);
  }
}

/** Returns the types for which the field or a member is defined. */
export function typesOf(field: SchemaField): readonly string[] {
  const all = [...membersOf(field).values()].flatMap(({ definitions }) => definitions);
  return [
    ...new Set([...field.definitions, ...all].flatMap(({ when }) => (when === undefined ? [] : [when]))),
  ];
}

/** Returns the field with the definitions for a type. */
export function fieldForType(field: SchemaField, type: string): SchemaField {
  const definitions = field.definitions.filter(({ when }) => when === type);
  return definitions.length === 0 ? field : { ...field, definitions };
}

/** Returns the field at `path`, relative to `from`; undefined if missing. The path may contain ids. */
export function findField(from: SchemaField, path: readonly string[]): SchemaField | undefined {
  const [name, ...rest] = path;
  if (name === undefined) return from;
  const member = membersOf(from).get(name);
  if (member !== undefined) return findField(member, rest);
  const type = typesOf(from).find((each) => each === name);
  if (type !== undefined) return findField(fieldForType(from, type), rest);
  // `servers.files.command`: an id is only skipped if the rest is known, since typos look like ids.
  return rest.length > 0 && isCollection(from) ? findField(from, rest) : undefined;
}

/**
 * Returns the field that describes a path from a message; undefined if missing. The path may end with an id,
 * or inside a field without members, such as `output_schema` or another form of a text.
 */
export function fieldAround(from: SchemaField, path: readonly string[]): SchemaField | undefined {
  const field = findField(from, path);
  if (field !== undefined || path.length === 0) return field;
  const parent = fieldAround(from, path.slice(0, -1));
  return parent !== undefined && (isMap(parent) || membersOf(parent).size === 0) ? parent : undefined;
}

const isMap = ({ definitions, kind }: SchemaField) =>
  definitions.some(({ schema }) => {
    const { patternProperties, additionalProperties } = resolveDefinition(schema, kind);
    return patternProperties !== undefined || typeof additionalProperties === 'object';
  });

function isCollection({ definitions, kind }: SchemaField): boolean {
  return definitions.some(({ schema }) => {
    const { items, patternProperties, additionalProperties } = resolveDefinition(schema, kind);
    return items !== undefined || patternProperties !== undefined || typeof additionalProperties === 'object';
  });
}

/** Yields all fields below `field`. Recursive definitions, such as loop steps, are yielded once. */
export function* fieldsBelow(field: SchemaField, within: readonly string[] = []): Generator<SchemaField> {
  for (const member of membersOf(field).values()) {
    yield member;
    const references = member.definitions.flatMap(({ schema: { $ref } }) =>
      $ref === undefined ? [] : [$ref],
    );
    if (!references.some((each) => within.includes(each)))
      yield* fieldsBelow(member, [...within, ...references]);
  }
}

/** Resolves a `$ref` within its schema. */
export function resolveDefinition(schema: PublishedSchema, kind: SchemaKind): PublishedSchema {
  const name = /^#\/\$defs\/(\w+)$/.exec(schema.$ref ?? '')?.[1];
  if (name === undefined) return schema;
  return { ...(jsonSchemas[kind] as PublishedSchema).$defs?.[name], ...schema };
}

/** Returns the field's definition as a self-contained schema, including referenced definitions. */
export function schemaOf({ definitions, kind }: SchemaField): PublishedSchema {
  const [only, ...others] = definitions.map(({ schema }) => schema);
  const part =
    only !== undefined && others.length === 0 ? only : { anyOf: definitions.map((each) => each.schema) };
  if (part.$defs !== undefined) return part;
  const { $defs: all = {} } = jsonSchemas[kind] as PublishedSchema;
  const needed: Record<string, PublishedSchema> = {};
  // The list grows during the iteration: definitions may contain further references.
  const parts = [part];
  for (const each of parts)
    for (const [, name = ''] of JSON.stringify(each).matchAll(/"#\/\$defs\/(\w+)"/g)) {
      const definition = all[name];
      if (definition === undefined || Object.hasOwn(needed, name)) continue;
      needed[name] = definition;
      parts.push(definition);
    }
  return Object.keys(needed).length === 0 ? part : { ...part, $defs: needed };
}

/** Returns the condition as text: its first accepted value, or the members that it requires. */
function conditionOf(condition: PublishedSchema | undefined): string | undefined {
  for (const part of Object.values(condition?.properties ?? {})) {
    if (typeof part !== 'object') continue;
    if (part.enum !== undefined) return String(part.enum[0]);
    if (part.required !== undefined) return `with ${part.required.join(' and ')}`;
  }
  return undefined;
}
