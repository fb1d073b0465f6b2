// The form of a tool: a field for each argument, made from the schema of the arguments. What no field can be made of is given as JSON.
//
// FLD1 (A8)  MAX_FIELDS fields and MAX_DEPTH levels; what is beyond is one field of JSON.

import {
  isObject,
  type JsonSchema,
  own,
  type PlainSchema,
  plainSchema,
} from '../../../../config/value-schema/schema-parts.ts';

const MAX_FIELDS = 200;
const MAX_DEPTH = 4;
const MAX_CHOICES = 200;
const MAX_HINT = 300;

/** Names from the outermost argument in. */
export type Path = readonly string[];

interface Common {
  readonly path: Path;
  /** The argument's. */
  readonly name: string;
  readonly description: string;
  /** What the schema says of its values, for people. */
  readonly hints: readonly string[];
  readonly isRequired: boolean;
  readonly isNullable: boolean;
}

/** What the schema gives it until somebody else does, as a draft; undefined for nothing. */
interface WithDefault<T> {
  readonly given: T | undefined;
}

export type SimpleType = 'string' | 'number' | 'integer' | 'boolean';

export interface Choice {
  readonly value: unknown;
  readonly label: string;
}

export type TextField = Common & WithDefault<string> & { readonly kind: 'text' };
export type NumberField = Common &
  WithDefault<string> & { readonly kind: 'number'; readonly isWhole: boolean };
export type FlagField = Common & WithDefault<boolean> & { readonly kind: 'flag' };
export type ChoiceField = Common &
  WithDefault<string> & {
    readonly kind: 'choice';
    /** A draft is the place of one of them. */
    readonly choices: readonly Choice[];
  };
/** Values of one simple type, a line each. */
export type LinesField = Common & WithDefault<string> & { readonly kind: 'lines'; readonly of: SimpleType };
export type JsonField = Common & WithDefault<string> & { readonly kind: 'json' };
export type GroupField = Common & { readonly kind: 'group'; readonly fields: readonly Field[] };
export type LeafField = TextField | NumberField | FlagField | ChoiceField | LinesField | JsonField;
export type Field = LeafField | GroupField;

/** What somebody has given for a field, by its key. */
export type Draft = string | boolean;
export type Drafts = ReadonlyMap<string, Draft>;

export const keyOf = (path: Path): string => JSON.stringify(path);

/** A field for each argument; undefined where the arguments can only be given as JSON. */
export function fieldsOf(schema: unknown): readonly Field[] | undefined {
  const plain = plainSchema(schema, schema);
  if (plain === undefined || !isPlainObject(plain.schema)) return undefined;
  const maker = new FieldMaker(schema);
  const fields = maker.members(plain.schema, [], 1);
  return maker.count > MAX_FIELDS ? undefined : fields;
}

/** Whether its members can be fields of their own. */
function isPlainObject({
  type,
  properties,
  anyOf,
  oneOf,
  allOf,
  enum: values,
  ...more
}: JsonSchema): boolean {
  const isOpen = properties === undefined && isObject(more.additionalProperties);
  if (isOpen || more.patternProperties !== undefined || Object.hasOwn(more, 'const')) return false;
  if (anyOf ?? oneOf ?? allOf ?? values) return false;
  return (type === 'object' || type === undefined) && (properties === undefined || isObject(properties));
}

class FieldMaker {
  count = 0;
  readonly #root: unknown;

  constructor(root: unknown) {
    this.#root = root;
  }

  members({ properties, required }: JsonSchema, path: Path, depth: number): Field[] {
    const needed = new Set(Array.isArray(required) ? required : []);
    const named = Object.entries(isObject(properties) ? properties : {});
    this.count += named.length;
    if (this.count > MAX_FIELDS) return [];
    const unnamed = [...needed].filter(
      (name): name is string => typeof name === 'string' && !named.some(([each]) => each === name),
    );
    return [...named, ...unnamed.map((name) => [name, {}] as const)].map(([name, schema]) =>
      this.#field(schema, [...path, name], needed.has(name), depth),
    );
  }

  #field(given: unknown, path: Path, isRequired: boolean, depth: number): Field {
    const plain = plainSchema(this.#root, given);
    const schema = plain?.schema ?? {};
    const common: Common = {
      path,
      name: path.at(-1) ?? '',
      description: [schema.description, schema.title].find((text) => typeof text === 'string') ?? '',
      hints: hintsIn(schema),
      isRequired,
      isNullable: plain?.isNullable === true,
    };
    return (plain && this.#known(plain, common, depth)) ?? jsonField(common, schema);
  }

  /** Undefined for what no field can be made of. */
  #known({ schema }: PlainSchema, common: Common, depth: number): Field | undefined {
    const choices = choicesIn(schema, common.isNullable);
    if (choices !== undefined) {
      const at = choices.findIndex(({ value }) => value === schema.default);
      return { ...common, kind: 'choice', choices, given: at < 0 ? undefined : String(at) };
    }
    if (schema.anyOf ?? schema.oneOf ?? schema.allOf ?? schema.enum) return undefined;
    const given = schema.default;
    switch (schema.type) {
      case 'string':
        return { ...common, kind: 'text', given: typeof given === 'string' ? given : undefined };
      case 'number':
      case 'integer':
        return {
          ...common,
          kind: 'number',
          isWhole: schema.type === 'integer',
          given: typeof given === 'number' ? String(given) : undefined,
        };
      case 'boolean':
        return { ...common, kind: 'flag', given: typeof given === 'boolean' ? given : undefined };
      case 'array':
        return this.#lines(schema, common);
      case 'object':
        if (depth >= MAX_DEPTH || !isPlainObject(schema) || !isObject(schema.properties)) return undefined;
        return { ...common, kind: 'group', fields: this.members(schema, common.path, depth + 1) };
      default:
        return undefined;
    }
  }

  #lines(schema: JsonSchema, common: Common): Field | undefined {
    const items = plainSchema(this.#root, schema.items);
    if (items === undefined || items.isNullable) return undefined;
    const of = simpleTypeOf(items.schema);
    if (of === undefined) return undefined;
    const given = schema.default;
    const isOfLines =
      Array.isArray(given) && given.length > 0 && given.every((item) => !/[\r\n]/.test(String(item)));
    const hints = [...hintsIn(items.schema), ...common.hints];
    return { ...common, hints, kind: 'lines', of, given: isOfLines ? given.join('\n') : undefined };
  }
}

function jsonField(common: Common, schema: JsonSchema): Field {
  const given = Object.hasOwn(schema, 'default') ? JSON.stringify(schema.default, null, 2) : undefined;
  return { ...common, kind: 'json', given };
}

const simpleTypes: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean']);

function simpleTypeOf(schema: JsonSchema): SimpleType | undefined {
  const { type, enum: values, anyOf, oneOf, allOf } = schema;
  if (anyOf ?? oneOf ?? allOf) return undefined;
  if (simpleTypes.has(type)) return type as SimpleType;
  const areTexts = Array.isArray(values) && values.every((value) => typeof value === 'string');
  return type === undefined && areTexts ? 'string' : undefined;
}

/** The values of an argument that has only a few. */
function choicesIn(schema: JsonSchema, isNullable: boolean): readonly Choice[] | undefined {
  const titled = schema.oneOf ?? schema.anyOf;
  const all = Object.hasOwn(schema, 'const')
    ? [choice(schema.const)]
    : Array.isArray(schema.enum)
      ? schema.enum.map((value) => choice(value))
      : Array.isArray(titled) && schema.allOf === undefined && titled.every(isConst)
        ? titled.map((each: JsonSchema) => choice(each.const, each.title))
        : undefined;
  if (all === undefined || all.length === 0 || all.length > MAX_CHOICES) return undefined;
  if (all.some(({ value }) => typeof value === 'object' && value !== null)) return undefined;
  // Somewhere among the schemas of "this or null".
  return isNullable && !all.some(({ value }) => value === null) ? [...all, choice(null)] : all;
}

const isConst = (schema: unknown) => isObject(schema) && Object.hasOwn(schema, 'const');

function choice(value: unknown, title?: unknown): Choice {
  if (typeof title === 'string' && title !== '') return { value, label: title };
  return { value, label: typeof value === 'string' ? value : JSON.stringify(value) };
}

const words: readonly (readonly [keyword: string, words: string])[] = [
  ['minimum', 'at least'],
  ['exclusiveMinimum', 'more than'],
  ['maximum', 'at most'],
  ['exclusiveMaximum', 'less than'],
  ['multipleOf', 'a multiple of'],
  ['minLength', 'characters at least'],
  ['maxLength', 'characters at most'],
  ['minItems', 'items at least'],
  ['maxItems', 'items at most'],
  ['format', 'format'],
  ['pattern', 'pattern'],
];

function hintsIn(schema: JsonSchema): string[] {
  const hints = words.flatMap(([keyword, said]) => {
    const value = own(schema, keyword);
    if (typeof value !== 'number' && typeof value !== 'string') return [];
    const shown = String(value).slice(0, MAX_HINT);
    return [/^(characters|items)/.test(said) ? `${shown} ${said}` : `${said} ${shown}`];
  });
  if (schema.type === 'integer') hints.unshift('a whole number');
  if (schema.type === 'array' && schema.uniqueItems === true) hints.push('each once');
  return hints;
}
