// Checks a value against a schema before it is sent, as far as that can be done without running anything that the schema brings:
// expressions (`pattern`) could take for ever. The server has the last word.
//
// SCK1  what is found wrong is wrong by the schema; and what is wrong and is not found, is so by a keyword that is told as unchecked.
// SCK2 (A8)  MAX_STEPS and MAX_DEPTH, whatever the schema and the value are.

import { isObject, type Members, own, referenced } from './schema.ts';

const MAX_STEPS = 20_000;
const MAX_DEPTH = 64;
const MAX_COMPARED = 200;
const MAX_LISTED = 20;

export interface Finding {
  /** Names and places from the outermost in. */
  readonly path: readonly string[];
  readonly text: string;
}

export interface Checked {
  readonly findings: readonly Finding[];
  /** Keywords, sorted. */
  readonly unchecked: readonly string[];
}

export function checkValue(schema: unknown, value: unknown): Checked {
  const check = new Check(schema);
  const findings = check.value(schema, value, [], 0);
  return { findings, unchecked: [...check.unchecked].sort() };
}

/** What is said for people, or for tools. */
const annotations: ReadonlySet<string> = new Set([
  ...[
    '$schema',
    '$comment',
    '$defs',
    'definitions',
    'title',
    'description',
    'default',
    'examples',
    'example',
  ],
  ...['deprecated', 'readOnly', 'writeOnly', 'contentEncoding', 'contentMediaType', 'contentSchema'],
]);

type Path = readonly string[];

class Check {
  readonly unchecked = new Set<string>();
  readonly #root: unknown;
  #steps = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  value(schema: unknown, value: unknown, path: Path, depth: number): Finding[] {
    // A long text costs each keyword that looks at it.
    this.#steps += 1 + (typeof value === 'string' ? value.length >> 10 : 0);
    if (this.#steps > MAX_STEPS || depth > MAX_DEPTH) return this.#leave('what is nested');
    if (schema === false) return [{ path, text: 'must be left out' }];
    if (!isObject(schema)) return schema === true ? [] : this.#leave('a schema that is none');
    if (typeof schema.$id === 'string' && schema !== this.#root) return this.#leave('$id');
    const found: Finding[] = [];
    for (const [keyword, wanted] of Object.entries(schema)) {
      const rule = rules.get(keyword);
      if (rule !== undefined) {
        const more = rule({ check: this, schema, wanted, value, path, depth });
        if (more === undefined) this.unchecked.add(keyword);
        else found.push(...more);
      } else if (!annotations.has(keyword) && keyword !== '$id' && !keyword.startsWith('x-'))
        this.unchecked.add(keyword);
    }
    return found;
  }

  reference(ref: unknown, value: unknown, path: Path, depth: number): Finding[] | undefined {
    const schema = referenced(this.#root, ref);
    return schema === undefined ? undefined : this.value(schema, value, path, depth + 1);
  }

  #leave(what: string): Finding[] {
    this.unchecked.add(what);
    return [];
  }
}

interface Asked {
  readonly check: Check;
  readonly schema: Members;
  /** What the keyword has. */
  readonly wanted: unknown;
  readonly value: unknown;
  readonly path: Path;
  readonly depth: number;
}

/** What it finds wrong; undefined where it cannot tell. */
type Rule = (asked: Asked) => Finding[] | undefined;

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;

function isOfType(value: unknown, type: unknown): boolean {
  return type === 'integer' ? Number.isInteger(value) : typeOf(value) === type;
}

const names: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

/** A bound that holds for values of one type. */
function bound(
  type: string,
  sizeOf: (value: never) => number,
  isWithin: (size: number, bound: number) => boolean,
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
const least = (size: number, bound: number) => size >= bound;
const most = (size: number, bound: number) => size <= bound;

const rules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  [
    'type',
    ({ wanted, value, path }) => {
      const types = Array.isArray(wanted) ? wanted : [wanted];
      if (!types.every((type) => typeof type === 'string' && Object.hasOwn(names, type))) return undefined;
      if (types.some((type) => isOfType(value, type))) return [];
      return [{ path, text: `must be ${types.map((type) => names[type]).join(' or ')}` }];
    },
  ],
  [
    'enum',
    ({ wanted, value, path }) => {
      if (!Array.isArray(wanted)) return undefined;
      if (wanted.some((each) => isSame(each, value))) return [];
      const shown = wanted.slice(0, MAX_LISTED).map((each) => JSON.stringify(each).slice(0, 100));
      return [{ path, text: `must be one of ${shown.join(', ')}${wanted.length > MAX_LISTED ? ' …' : ''}` }];
    },
  ],
  [
    'const',
    ({ wanted, value, path }) =>
      isSame(wanted, value) ? [] : [{ path, text: `must be ${JSON.stringify(wanted).slice(0, 100)}` }],
  ],
  ['minimum', bound('number', itself, least, (n) => `must be at least ${n}`)],
  ['maximum', bound('number', itself, most, (n) => `must be at most ${n}`)],
  [
    'exclusiveMinimum',
    bound(
      'number',
      itself,
      (a, b) => a > b,
      (n) => `must be more than ${n}`,
    ),
  ],
  [
    'exclusiveMaximum',
    bound(
      'number',
      itself,
      (a, b) => a < b,
      (n) => `must be less than ${n}`,
    ),
  ],
  [
    'multipleOf',
    bound(
      'number',
      itself,
      (a, b) => Number.isInteger(a / b),
      (n) => `must be a multiple of ${n}`,
    ),
  ],
  ['minLength', bound('string', characters, least, (n) => `must have at least ${n} characters`)],
  ['maxLength', bound('string', characters, most, (n) => `must have at most ${n} characters`)],
  ['minItems', bound('array', items, least, (n) => `must have at least ${n} items`)],
  ['maxItems', bound('array', items, most, (n) => `must have at most ${n} items`)],
  ['minProperties', bound('object', members, least, (n) => `must have at least ${n} members`)],
  ['maxProperties', bound('object', members, most, (n) => `must have at most ${n} members`)],
  [
    'uniqueItems',
    ({ wanted, value, path }) => {
      if (wanted !== true || !Array.isArray(value)) return [];
      if (value.length > MAX_COMPARED) return undefined;
      const at = value.findIndex((item, index) => value.slice(0, index).some((other) => isSame(item, other)));
      return at < 0 ? [] : [{ path, text: `has item ${at + 1} twice` }];
    },
  ],
  [
    'items',
    ({ check, schema, wanted, value, path, depth }) => {
      if (!Array.isArray(value)) return [];
      // Of the rest behind `prefixItems`, or a list of schemas, as drafts before 2020 have it.
      if (Array.isArray(wanted) || schema.prefixItems !== undefined) return undefined;
      return value.flatMap((item, index) => check.value(wanted, item, [...path, `${index + 1}`], depth + 1));
    },
  ],
  [
    'properties',
    ({ check, wanted, value, path, depth }) => {
      if (!isObject(wanted)) return undefined;
      if (!isObject(value)) return [];
      return Object.entries(wanted).flatMap(([name, schema]) =>
        Object.hasOwn(value, name) ? check.value(schema, own(value, name), [...path, name], depth + 1) : [],
      );
    },
  ],
  [
    'required',
    ({ wanted, value, path }) => {
      if (!Array.isArray(wanted)) return undefined;
      if (!isObject(value)) return [];
      const missing = wanted.filter((name) => typeof name === 'string' && !Object.hasOwn(value, name));
      return missing.map((name: string) => ({ path: [...path, name], text: 'is required' }));
    },
  ],
  [
    'additionalProperties',
    ({ check, schema, wanted, value, path, depth }) => {
      if (!isObject(value) || wanted === true) return [];
      if (schema.patternProperties !== undefined) return undefined;
      const known = isObject(schema.properties) ? schema.properties : {};
      const others = Object.entries(value).filter(([name]) => !Object.hasOwn(known, name));
      return others.flatMap(([name, each]) =>
        wanted === false
          ? [{ path: [...path, name], text: 'is no argument that the schema knows' }]
          : check.value(wanted, each, [...path, name], depth + 1),
      );
    },
  ],
  ['$ref', ({ check, wanted, value, path, depth }) => check.reference(wanted, value, path, depth)],
  [
    'allOf',
    ({ check, wanted, value, path, depth }) =>
      Array.isArray(wanted)
        ? wanted.flatMap((schema) => check.value(schema, value, path, depth + 1))
        : undefined,
  ],
  ['anyOf', (asked) => (Array.isArray(asked.wanted) ? ofAny(asked, asked.wanted) : undefined)],
  [
    'oneOf',
    (asked) => {
      if (!Array.isArray(asked.wanted)) return undefined;
      const found = ofAny(asked, asked.wanted);
      // Whether it is more than one is left to the server, where more than one may be meant.
      const { check, value, path, depth } = asked;
      const fitting = asked.wanted.filter(
        (schema) => check.value(schema, value, path, depth + 1).length === 0,
      );
      return fitting.length > 1 ? undefined : found;
    },
  ],
]);

function ofAny({ check, value, path, depth }: Asked, schemas: readonly unknown[]): Finding[] {
  const all = schemas.map((schema) => check.value(schema, value, path, depth + 1));
  if (all.some((found) => found.length === 0)) return [];
  // Of those that are for a value like it, one: what is wrong there is more than that nothing fits.
  const like = all.filter((found) => !found.some((each) => each.path.length === path.length));
  return like.length === 1 && like[0] !== undefined
    ? like[0]
    : [{ path, text: 'has none of the forms that the schema allows' }];
}

function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one))
    return (
      Array.isArray(other) && one.length === other.length && one.every((each, at) => isSame(each, other[at]))
    );
  if (!isObject(one) || !isObject(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]))
  );
}
