// Derives form fields from the schema of a tool's arguments. An argument is entered as JSON if no field suits
// it, or if it is an object at nesting level MAX_DEPTH. With more than MAX_FIELDS fields, all arguments are
// entered as JSON (A8, ARCHITECTURE.md).

import {
  isObject,
  type JsonSchema,
  ownMember,
  type PlainSchema,
  plainSchema,
} from '../../../../config/value-schema/schema-parts.ts';

const MAX_FIELDS = 200;
const MAX_DEPTH = 4;
const MAX_CHOICES = 200;
/** Maximum length of a value in a hint, in characters. */
const MAX_HINT = 300;

/** Names of the argument and the objects around it, outermost first. */
export type Path = readonly string[];

interface Common {
  readonly path: Path;
  /** Name of the argument. */
  readonly name: string;
  readonly description: string;
  /** Constraints of the schema, as text. */
  readonly hints: readonly string[];
  readonly isRequired: boolean;
  readonly isNullable: boolean;
}

/** Default from the schema, as a draft. */
interface WithDefault<T> {
  readonly initial: T | undefined;
}

export type SimpleType = 'string' | 'number' | 'integer' | 'boolean';

export interface FieldChoice {
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
    /** The draft is the index in this list. */
    readonly choices: readonly FieldChoice[];
  };
/** Array, entered with one simple value per line. `of` is the type of the values. */
export type LinesField = Common & WithDefault<string> & { readonly kind: 'lines'; readonly of: SimpleType };
export type JsonField = Common & WithDefault<string> & { readonly kind: 'json' };
export type GroupField = Common & { readonly kind: 'group'; readonly fields: readonly ArgumentField[] };
export type LeafField = TextField | NumberField | FlagField | ChoiceField | LinesField | JsonField;
export type ArgumentField = LeafField | GroupField;

/** Input of the user for a field. */
export type FieldDraft = string | boolean;
export type FieldDrafts = ReadonlyMap<string, FieldDraft>;

export const keyOf = (path: Path): string => JSON.stringify(path);

/** Returns a field for each argument; undefined if all arguments must be entered as JSON. */
export function fieldsOf(schema: unknown): readonly ArgumentField[] | undefined {
  const resolved = plainSchema(schema, schema);
  if (resolved === undefined || !isPlainObject(resolved.schema)) return undefined;
  const maker = new FieldMaker(schema);
  const fields = maker.members(resolved.schema, [], 1);
  return maker.count > MAX_FIELDS ? undefined : fields;
}

/** Returns true if the members of the object can be separate fields. */
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

  members({ properties, required }: JsonSchema, path: Path, depth: number): ArgumentField[] {
    const requiredNames = new Set(Array.isArray(required) ? required : []);
    const declared = Object.entries(isObject(properties) ? properties : {});
    this.count += declared.length;
    if (this.count > MAX_FIELDS) return [];
    const undeclared = [...requiredNames].filter(
      (name): name is string => typeof name === 'string' && !declared.some(([each]) => each === name),
    );
    return [...declared, ...undeclared.map((name) => [name, {}] as const)].map(([name, schema]) =>
      this.#field(schema, [...path, name], requiredNames.has(name), depth),
    );
  }

  #field(memberSchema: unknown, path: Path, isRequired: boolean, depth: number): ArgumentField {
    const plain = plainSchema(this.#root, memberSchema);
    const schema = plain?.schema ?? {};
    const common: Common = {
      path,
      name: path.at(-1) ?? '',
      description: [schema.description, schema.title].find((text) => typeof text === 'string') ?? '',
      hints: hintsIn(schema),
      isRequired,
      isNullable: plain?.isNullable === true,
    };
    return (plain && this.#fieldFor(plain, common, depth)) ?? jsonField(common, schema);
  }

  /** Returns undefined if no field type fits. */
  #fieldFor({ schema }: PlainSchema, common: Common, depth: number): ArgumentField | undefined {
    const choices = choicesIn(schema, common.isNullable);
    if (choices !== undefined) {
      const index = choices.findIndex(({ value }) => value === schema.default);
      return { ...common, kind: 'choice', choices, initial: index < 0 ? undefined : String(index) };
    }
    if (schema.anyOf ?? schema.oneOf ?? schema.allOf ?? schema.enum) return undefined;
    const initial = schema.default;
    switch (schema.type) {
      case 'string':
        return { ...common, kind: 'text', initial: typeof initial === 'string' ? initial : undefined };
      case 'number':
      case 'integer':
        return {
          ...common,
          kind: 'number',
          isWhole: schema.type === 'integer',
          initial: typeof initial === 'number' ? String(initial) : undefined,
        };
      case 'boolean':
        return { ...common, kind: 'flag', initial: typeof initial === 'boolean' ? initial : undefined };
      case 'array':
        return this.#lines(schema, common);
      case 'object':
        if (depth >= MAX_DEPTH || !isPlainObject(schema) || !isObject(schema.properties)) return undefined;
        return { ...common, kind: 'group', fields: this.members(schema, common.path, depth + 1) };
      default:
        return undefined;
    }
  }

  #lines(schema: JsonSchema, common: Common): ArgumentField | undefined {
    const items = plainSchema(this.#root, schema.items);
    if (items === undefined || items.isNullable) return undefined;
    const of = simpleTypeOf(items.schema);
    if (of === undefined) return undefined;
    const initial = schema.default;
    const areSingleLines =
      Array.isArray(initial) && initial.length > 0 && initial.every((item) => !/[\r\n]/.test(String(item)));
    const hints = [...hintsIn(items.schema), ...common.hints];
    return { ...common, hints, kind: 'lines', of, initial: areSingleLines ? initial.join('\n') : undefined };
  }
}

function jsonField(common: Common, schema: JsonSchema): ArgumentField {
  const initial = Object.hasOwn(schema, 'default') ? JSON.stringify(schema.default, null, 2) : undefined;
  return { ...common, kind: 'json', initial };
}

const simpleTypes: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean']);

function simpleTypeOf(schema: JsonSchema): SimpleType | undefined {
  const { type, enum: values, anyOf, oneOf, allOf } = schema;
  if (anyOf ?? oneOf ?? allOf) return undefined;
  if (simpleTypes.has(type)) return type as SimpleType;
  const areTexts = Array.isArray(values) && values.every((value) => typeof value === 'string');
  return type === undefined && areTexts ? 'string' : undefined;
}

/** Returns all possible values, if there are few. */
function choicesIn(schema: JsonSchema, isNullable: boolean): readonly FieldChoice[] | undefined {
  const variants = schema.oneOf ?? schema.anyOf;
  const all = Object.hasOwn(schema, 'const')
    ? [choice(schema.const)]
    : Array.isArray(schema.enum)
      ? schema.enum.map((value) => choice(value))
      : Array.isArray(variants) && schema.allOf === undefined && variants.every(isConst)
        ? variants.map((each: JsonSchema) => choice(each.const, each.title))
        : undefined;
  if (all === undefined || all.length === 0 || all.length > MAX_CHOICES) return undefined;
  if (all.some(({ value }) => typeof value === 'object' && value !== null)) return undefined;
  // The schema was a union with null, which plainSchema has removed.
  return isNullable && !all.some(({ value }) => value === null) ? [...all, choice(null)] : all;
}

const isConst = (schema: unknown) => isObject(schema) && Object.hasOwn(schema, 'const');

function choice(value: unknown, title?: unknown): FieldChoice {
  if (typeof title === 'string' && title !== '') return { value, label: title };
  return { value, label: typeof value === 'string' ? value : JSON.stringify(value) };
}

const hintTexts: readonly (readonly [keyword: string, phrase: string])[] = [
  ['minimum', 'at least'],
  ['exclusiveMinimum', 'more than'],
  ['maximum', 'at most'],
  ['exclusiveMaximum', 'less than'],
  ['multipleOf', 'a multiple of'],
  ['minLength', 'characters minimum'],
  ['maxLength', 'characters maximum'],
  ['minItems', 'items minimum'],
  ['maxItems', 'items maximum'],
  ['format', 'format'],
  ['pattern', 'pattern'],
];

function hintsIn(schema: JsonSchema): string[] {
  const hints = hintTexts.flatMap(([keyword, phrase]) => {
    const value = ownMember(schema, keyword);
    if (typeof value !== 'number' && typeof value !== 'string') return [];
    const text = String(value).slice(0, MAX_HINT);
    // `3 items minimum`, but `at least 3`.
    return [/^(characters|items)/.test(phrase) ? `${text} ${phrase}` : `${phrase} ${text}`];
  });
  if (schema.type === 'integer') hints.unshift('integer');
  if (schema.type === 'array' && schema.uniqueItems === true) hints.push('unique');
  return hints;
}
