// The published schemas as a tree of fields, as people name them: `gateway.limits.body_bytes`, `trigger.spec.config.path`.
// Lists and mappings from a name to something are passed through (`catalog.servers.command`), and what a schema says only of
// some files, such as the settings of one type of triggers, carries for which it holds.

import { jsonSchemas } from './json-schemas.ts';

export type Kind = keyof typeof jsonSchemas;

export const kinds = Object.keys(jsonSchemas) as readonly Kind[];

/** A part of a published schema. */
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

/** One way in which a schema tells of a field. */
interface Telling {
  readonly schema: PublishedSchema;
  /** For which files it holds: the word of a type; undefined for all. */
  readonly when: string | undefined;
}

export interface Field {
  readonly kind: Kind;
  /** From the kind on; empty for the kind itself. */
  readonly path: readonly string[];
  readonly isRequired: boolean;
  /** At least one, the general one first. */
  readonly tellings: readonly Telling[];
}

export function rootField(kind: Kind): Field {
  return {
    kind,
    path: [],
    isRequired: false,
    tellings: [{ schema: jsonSchemas[kind] as PublishedSchema, when: undefined }],
  };
}

/** `gateway.limits.body_bytes`. */
export const dottedPath = ({ kind, path }: Field): string => [kind, ...path].join('.');

/** The fields right below one, by name, in the order of the schema. */
export function membersOf(field: Field): ReadonlyMap<string, Field> {
  const members = new Map<string, Field>();
  for (const { schema, when } of field.tellings)
    collect(resolved(schema, field.kind), when, (name, isRequired, telling) => {
      const known = members.get(name);
      members.set(name, {
        kind: field.kind,
        path: [...field.path, name],
        isRequired: isRequired || known?.isRequired === true,
        tellings: [...(known?.tellings ?? []), telling],
      });
    });
  return members;

  function collect(
    schema: PublishedSchema,
    when: string | undefined,
    add: (name: string, isRequired: boolean, telling: Telling) => void,
  ): void {
    const inner = (part: PublishedSchema | boolean | undefined, whenThere = when): void => {
      if (typeof part === 'object') collect(resolved(part, field.kind), whenThere, add);
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

/** The words of types that the tellings of a field, or of those below it, hold for. */
export function typesOf(field: Field): readonly string[] {
  const all = [...membersOf(field).values()].flatMap(({ tellings }) => tellings);
  return [...new Set([...field.tellings, ...all].flatMap(({ when }) => (when === undefined ? [] : [when])))];
}

/** The field as it is for one type. */
export function ofType(field: Field, type: string): Field {
  const tellings = field.tellings.filter(({ when }) => when === type);
  return tellings.length === 0 ? field : { ...field, tellings };
}

/** The field at a path below another; undefined where there is none. An id or an index may stand where there are many. */
export function findField(from: Field, path: readonly string[]): Field | undefined {
  const [name, ...rest] = path;
  if (name === undefined) return from;
  const member = membersOf(from).get(name);
  if (member !== undefined) return findField(member, rest);
  const type = typesOf(from).find((each) => each === name);
  if (type !== undefined) return findField(ofType(from, type), rest);
  // `servers.files.command`: only where what follows is known, since a slip looks like an id as well.
  return rest.length > 0 && isMany(from) ? findField(from, rest) : undefined;
}

function isMany({ tellings, kind }: Field): boolean {
  return tellings.some(({ schema }) => {
    const { items, patternProperties, additionalProperties } = resolved(schema, kind);
    return items !== undefined || patternProperties !== undefined || typeof additionalProperties === 'object';
  });
}

/** Every field below one. What contains itself, as the steps of a loop, is told once. */
export function* fieldsBelow(field: Field, within: readonly string[] = []): Generator<Field> {
  for (const member of membersOf(field).values()) {
    yield member;
    const references = member.tellings.flatMap(({ schema: { $ref } }) => ($ref === undefined ? [] : [$ref]));
    if (!references.some((each) => within.includes(each)))
      yield* fieldsBelow(member, [...within, ...references]);
  }
}

/** The schema that a reference within its file stands for. */
export function resolved(schema: PublishedSchema, kind: Kind): PublishedSchema {
  const name = /^#\/\$defs\/(\w+)$/.exec(schema.$ref ?? '')?.[1];
  if (name === undefined) return schema;
  return { ...(jsonSchemas[kind] as PublishedSchema).$defs?.[name], ...schema };
}

/** The part of the schema that tells of a field, with the definitions that it refers to: it stands for itself. */
export function schemaOf({ tellings, kind }: Field): PublishedSchema {
  const [only, ...others] = tellings.map(({ schema }) => schema);
  const part =
    only !== undefined && others.length === 0 ? only : { anyOf: tellings.map((each) => each.schema) };
  if (part.$defs !== undefined) return part;
  const { $defs: all = {} } = jsonSchemas[kind] as PublishedSchema;
  const needed: Record<string, PublishedSchema> = {};
  // Grows while it is walked through: a definition may refer to others.
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

/** A condition as the word that it asks for. */
function conditionOf(condition: PublishedSchema | undefined): string | undefined {
  for (const part of Object.values(condition?.properties ?? {})) {
    if (typeof part !== 'object') continue;
    if (part.enum !== undefined) return String(part.enum[0]);
    if (part.required !== undefined) return `with ${part.required.join(' and ')}`;
  }
  return undefined;
}
