// Validates a value against a JSON Schema of unknown origin: tool arguments, form answers, model output. It
// is an interpreter, because compiling validators and pattern engines would execute untrusted code.
//
// Each finding is an error according to the schema. Errors can only be missed for keywords listed as
// unchecked.
//
// MAX_STEPS and MAX_DEPTH limit each check (A8, ARCHITECTURE.md). A check with patterns has no limits: its
// schemas were checked when they were loaded.

import { canonical, isObject, isSame, type JsonSchema, ownMember, resolveReference } from './schema-parts.ts';

const MAX_STEPS = 20_000;
const MAX_DEPTH = 64;
const MAX_LISTED = 20;

export interface Finding {
  /** Names and positions, outermost first. */
  readonly path: readonly string[];
  readonly text: string;
}

export interface Checked {
  readonly findings: readonly Finding[];
  /** Sorted keywords of the schema that were not checked. */
  readonly unchecked: readonly string[];
}

/** Tests if the text contains a match of the pattern, in bounded time. */
export type FindPattern = (pattern: string, text: string) => boolean;

/** Validates a value. Patterns are only checked with the pattern engine `finds`. */
export function checkValue(schema: unknown, value: unknown, finds?: FindPattern): Checked {
  const check = new Check(schema, finds);
  const findings = check.value(schema, value, [], 0);
  return { findings, unchecked: [...check.unchecked].sort() };
}

const annotations: ReadonlySet<string> = new Set([
  ...['$schema', '$comment', '$defs', 'definitions', 'title', 'description', 'default', 'examples'],
  ...['example', 'deprecated', 'readOnly', 'writeOnly'],
  ...['contentEncoding', 'contentMediaType', 'contentSchema'],
]);

type ValuePath = readonly string[];

class Check {
  readonly unchecked = new Set<string>();
  readonly #root: unknown;
  readonly #finds: FindPattern | undefined;
  #steps = 0;

  constructor(root: unknown, finds: FindPattern | undefined) {
    this.#root = root;
    this.#finds = finds;
  }

  /** Returns the errors of a value by a schema; `path` is the position of this value in the whole value. */
  value(schema: unknown, value: unknown, path: ValuePath, depth: number): Finding[] {
    // A text costs another step per 1024 characters, because the check of a longer text takes more time.
    this.#steps += 1 + (typeof value === 'string' ? value.length >> 10 : 0);
    const isTooMuch = this.#steps > MAX_STEPS || depth > MAX_DEPTH;
    if (isTooMuch && this.#finds === undefined) return this.#markUnchecked('deep nesting');
    if (schema === false) return [{ path, text: 'must be omitted' }];
    if (!isObject(schema)) return schema === true ? [] : this.#markUnchecked('invalid schema');
    if (typeof schema.$id === 'string' && schema !== this.#root) return this.#markUnchecked('$id');
    const found: Finding[] = [];
    for (const [keyword, wanted] of Object.entries(schema)) {
      const rule = rules.get(keyword);
      if (rule !== undefined) {
        const findings = rule({ check: this, schema, wanted, value, path, depth });
        if (findings === undefined) this.unchecked.add(keyword);
        else found.push(...findings);
      } else if (!annotations.has(keyword) && keyword !== '$id' && !keyword.startsWith('x-'))
        this.unchecked.add(keyword);
    }
    return found;
  }

  reference(ref: unknown, value: unknown, path: ValuePath, depth: number): Finding[] | undefined {
    const schema = resolveReference(this.#root, ref);
    return schema === undefined ? undefined : this.value(schema, value, path, depth + 1);
  }

  /** Returns undefined if no pattern engine is available. */
  isFound(pattern: string, text: string): boolean | undefined {
    return this.#finds?.(pattern, text);
  }

  /** True if a value without findings is certainly valid: with patterns, the check has no limits. */
  get isComplete(): boolean {
    return this.#finds !== undefined;
  }

  #markUnchecked(what: string): Finding[] {
    this.unchecked.add(what);
    return [];
  }
}

interface RuleInput {
  readonly check: Check;
  readonly schema: JsonSchema;
  /** Value of the keyword. */
  readonly wanted: unknown;
  readonly value: unknown;
  readonly path: ValuePath;
  readonly depth: number;
}

/** Returns the errors for a keyword; undefined if it cannot be checked. */
type Rule = (each: RuleInput) => Finding[] | undefined;

const typeDescriptions: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;

function isOfType(value: unknown, type: unknown): boolean {
  return type === 'integer' ? Number.isInteger(value) : typeOf(value) === type;
}

/** Creates a rule that bounds a value of a type, or its size. */
function boundRule(
  type: string,
  sizeOf: (value: never) => number,
  isWithin: (value: number, bound: number) => boolean,
  text: (bound: number) => string,
): Rule {
  return ({ wanted, value, path }) => {
    if (typeof wanted !== 'number') return undefined;
    if (typeOf(value) !== type || isWithin(sizeOf(value as never), wanted)) return [];
    return [{ path, text: text(wanted) }];
  };
}

const itself = (value: number) => value;
const characters = (value: string) => [...value].length;
const items = (value: readonly unknown[]) => value.length;
const members = (value: object) => Object.keys(value).length;
const isAtLeast = (value: number, bound: number) => value >= bound;
const isAtMost = (value: number, bound: number) => value <= bound;
const isGreater = (value: number, bound: number) => value > bound;
const isLess = (value: number, bound: number) => value < bound;

/** Returns true for a multiple, with a tolerance for rounding errors: 0.3 is a multiple of 0.1. */
function isMultiple(value: number, of: number): boolean {
  const times = value / of;
  return Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times));
}

const rules: ReadonlyMap<string, Rule> = new Map<string, Rule>(
  Object.entries({
    type: ({ wanted, value, path }) => {
      const types = Array.isArray(wanted) ? wanted : [wanted];
      if (!types.every((type) => typeof type === 'string' && Object.hasOwn(typeDescriptions, type)))
        return undefined;
      if (types.some((type) => isOfType(value, type))) return [];
      return [{ path, text: `must be ${types.map((type) => typeDescriptions[type]).join(' or ')}` }];
    },
    enum: ({ wanted, value, path }) => {
      if (!Array.isArray(wanted)) return undefined;
      if (wanted.some((each) => isSame(each, value))) return [];
      const shown = wanted.slice(0, MAX_LISTED).map((each) => JSON.stringify(each).slice(0, 100));
      return [{ path, text: `must be one of ${shown.join(', ')}${wanted.length > MAX_LISTED ? ' …' : ''}` }];
    },
    const: ({ wanted, value, path }) =>
      isSame(wanted, value) ? [] : [{ path, text: `must be ${JSON.stringify(wanted).slice(0, 100)}` }],
    minimum: boundRule('number', itself, isAtLeast, (n) => `must be at least ${n}`),
    maximum: boundRule('number', itself, isAtMost, (n) => `must be at most ${n}`),
    exclusiveMinimum: boundRule('number', itself, isGreater, (n) => `must be more than ${n}`),
    exclusiveMaximum: boundRule('number', itself, isLess, (n) => `must be less than ${n}`),
    multipleOf: boundRule('number', itself, isMultiple, (n) => `must be a multiple of ${n}`),
    minLength: boundRule('string', characters, isAtLeast, (n) => `must have at least ${n} characters`),
    maxLength: boundRule('string', characters, isAtMost, (n) => `must have at most ${n} characters`),
    minItems: boundRule('array', items, isAtLeast, (n) => `must have at least ${n} items`),
    maxItems: boundRule('array', items, isAtMost, (n) => `must have at most ${n} items`),
    minProperties: boundRule('object', members, isAtLeast, (n) => `must have at least ${n} members`),
    maxProperties: boundRule('object', members, isAtMost, (n) => `must have at most ${n} members`),
    pattern: ({ check, wanted, value, path }) => {
      if (typeof value !== 'string') return [];
      const isFound = typeof wanted === 'string' ? check.isFound(wanted, value) : undefined;
      // Without a pattern engine the result is undefined: not checked.
      return isFound === false ? [{ path, text: `must match ${wanted}` }] : isFound && [];
    },
    uniqueItems: ({ wanted, value, path }) => {
      if (wanted !== true || !Array.isArray(value)) return [];
      const seen = new Set<string>();
      // An item is a duplicate if its text does not enlarge the set.
      const at = value.findIndex((item) => seen.size === seen.add(canonical(item)).size);
      return at < 0 ? [] : [{ path, text: `has item ${at + 1} twice` }];
    },
    prefixItems: ({ check, wanted, value, path, depth }) => {
      if (!Array.isArray(wanted)) return undefined;
      if (!Array.isArray(value)) return [];
      return wanted.flatMap((schema, at) =>
        at < value.length ? check.value(schema, value[at], [...path, `${at + 1}`], depth + 1) : [],
      );
    },
    items: ({ check, schema, wanted, value, path, depth }) => {
      if (!Array.isArray(value)) return [];
      // A list of schemas is from drafts before 2020.
      if (Array.isArray(wanted)) return undefined;
      const first = Array.isArray(schema.prefixItems) ? schema.prefixItems.length : 0;
      return value
        .slice(first)
        .flatMap((item, at) => check.value(wanted, item, [...path, `${first + at + 1}`], depth + 1));
    },
    properties: ({ check, wanted, value, path, depth }) => {
      if (!isObject(wanted)) return undefined;
      if (!isObject(value)) return [];
      return Object.entries(wanted).flatMap(([name, schema]) =>
        Object.hasOwn(value, name)
          ? check.value(schema, ownMember(value, name), [...path, name], depth + 1)
          : [],
      );
    },
    required: ({ wanted, value, path }) => {
      if (!Array.isArray(wanted)) return undefined;
      if (!isObject(value)) return [];
      const missing = wanted.filter((name) => typeof name === 'string' && !Object.hasOwn(value, name));
      return missing.map((name: string) => ({ path: [...path, name], text: 'is required' }));
    },
    additionalProperties: ({ check, schema, wanted, value, path, depth }) => {
      if (!isObject(value) || wanted === true) return [];
      if (schema.patternProperties !== undefined) return undefined;
      const known = isObject(schema.properties) ? schema.properties : {};
      const others = Object.entries(value).filter(([name]) => !Object.hasOwn(known, name));
      return others.flatMap(([name, each]) =>
        wanted === false
          ? [{ path: [...path, name], text: 'is not in the schema' }]
          : check.value(wanted, each, [...path, name], depth + 1),
      );
    },
    $ref: ({ check, wanted, value, path, depth }) => check.reference(wanted, value, path, depth),
    allOf: ({ check, wanted, value, path, depth }) =>
      Array.isArray(wanted)
        ? wanted.flatMap((schema) => check.value(schema, value, path, depth + 1))
        : undefined,
    anyOf: (each) => (Array.isArray(each.wanted) ? checkAlternatives(each, each.wanted) : undefined),
    oneOf: (each) => {
      const { check, wanted, value, path, depth } = each;
      if (!Array.isArray(wanted)) return undefined;
      const fitting = wanted.filter((schema) => check.value(schema, value, path, depth + 1).length === 0);
      if (fitting.length < 2) return checkAlternatives(each, wanted);
      return check.isComplete ? [{ path, text: 'matches more than one alternative of oneOf' }] : undefined;
    },
    not: ({ check, wanted, value, path, depth }) => {
      if (check.value(wanted, value, path, depth + 1).length > 0) return [];
      return check.isComplete ? [{ path, text: 'matches a schema excluded by not' }] : undefined;
    },
  } satisfies Record<string, Rule>),
);

function checkAlternatives({ check, value, path, depth }: RuleInput, schemas: readonly unknown[]): Finding[] {
  const all = schemas.map((schema) => check.value(schema, value, path, depth + 1));
  if (all.some((found) => found.length === 0)) return [];
  // An error at the value itself, not at a member, means that the alternative expects another kind of value.
  // If only one alternative accepts this kind, its errors are more specific.
  const sameKind = all.filter((found) => !found.some((each) => each.path.length === path.length));
  return sameKind.length === 1 && sameKind[0] !== undefined
    ? sameKind[0]
    : [{ path, text: 'matches no alternative of the schema' }];
}
