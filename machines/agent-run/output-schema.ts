// Whether a value fits the schema of an answer. Of JSON Schema what config/resources/agents/output-schema.ts lets through, and
// no more: patterns are the ones of RE2, so that no answer makes a check take long.

type Json = Readonly<Record<string, unknown>>;

/** Whether the pattern stands for something in the text. */
export type FindPattern = (pattern: string, text: string) => boolean;

/** What is wrong first, and where; undefined when it fits. */
export function misfit(schema: unknown, value: unknown, finds: FindPattern, at = ''): string | undefined {
  if (schema === true || schema === undefined) return undefined;
  if (!isObject(schema)) return says(at, 'should not be there');
  const within = (inner: unknown, part: unknown, name: string | number) =>
    misfit(inner, part, finds, at === '' ? `${name}` : `${at}.${name}`);
  const here = (inner: unknown) => misfit(inner, value, finds, at);
  return (
    ofType(schema, value, at) ??
    ofValue(schema, value, at) ??
    (typeof value === 'number' ? ofNumber(schema, value, at) : undefined) ??
    (typeof value === 'string' ? ofText(schema, value, at, finds) : undefined) ??
    (Array.isArray(value) ? ofList(schema, value, at, within) : undefined) ??
    (isObject(value) ? ofMembers(schema, value, at, within) : undefined) ??
    ofChoices(schema, at, here)
  );
}

type Within = (inner: unknown, part: unknown, name: string | number) => string | undefined;

function ofType({ type }: Json, value: unknown, at: string): string | undefined {
  if (type === undefined) return undefined;
  const types = Array.isArray(type) ? type : [type];
  return types.some((each) => isOfType(each, value))
    ? undefined
    : says(at, `should be of type ${types.join(' or ')}`);
}

function isOfType(type: unknown, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isObject(value);
  return type === 'null' ? value === null : typeof value === type;
}

function ofValue({ enum: among, const: only }: Json, value: unknown, at: string): string | undefined {
  if (Array.isArray(among) && !among.some((each) => isSame(each, value)))
    return says(at, `should be one of ${JSON.stringify(among)}`);
  return only === undefined || isSame(only, value)
    ? undefined
    : says(at, `should be ${JSON.stringify(only)}`);
}

function ofNumber(schema: Json, value: number, at: string): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (isNumber(minimum) && value < minimum) return says(at, `should be at least ${minimum}`);
  if (isNumber(maximum) && value > maximum) return says(at, `should be at most ${maximum}`);
  if (isNumber(exclusiveMinimum) && value <= exclusiveMinimum)
    return says(at, `should be above ${exclusiveMinimum}`);
  if (isNumber(exclusiveMaximum) && value >= exclusiveMaximum)
    return says(at, `should be below ${exclusiveMaximum}`);
  if (isNumber(multipleOf) && !isMultiple(value, multipleOf))
    return says(at, `should be a multiple of ${multipleOf}`);
  return undefined;
}

/** 0.3 is a multiple of 0.1, whatever binary fractions make of it. */
function isMultiple(value: number, of: number): boolean {
  const times = value / of;
  return Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times));
}

function ofText({ minLength, maxLength, pattern }: Json, value: string, at: string, finds: FindPattern) {
  const length = [...value].length;
  if (isNumber(minLength) && length < minLength)
    return says(at, `should have ${minLength} characters or more`);
  if (isNumber(maxLength) && length > maxLength)
    return says(at, `should have at most ${maxLength} characters`);
  if (typeof pattern !== 'string' || finds(pattern, value)) return undefined;
  return says(at, `should match ${pattern}`);
}

function ofList(schema: Json, value: readonly unknown[], at: string, within: Within): string | undefined {
  const { minItems, maxItems, uniqueItems, items, prefixItems } = schema;
  if (isNumber(minItems) && value.length < minItems) return says(at, `should have ${minItems} items or more`);
  if (isNumber(maxItems) && value.length > maxItems) return says(at, `should have at most ${maxItems} items`);
  if (uniqueItems === true && new Set(value.map(canonical)).size < value.length)
    return says(at, 'should have no item twice');
  const first = Array.isArray(prefixItems) ? prefixItems : [];
  return firstOf(value, (item, n) => within(n < first.length ? first[n] : items, item, n));
}

function ofMembers(schema: Json, value: Json, at: string, within: Within): string | undefined {
  const { required, properties, additionalProperties, minProperties, maxProperties } = schema;
  const names = Object.keys(value);
  const missing = Array.isArray(required) ? required.find((name) => !Object.hasOwn(value, name)) : undefined;
  if (missing !== undefined) return says(at, `has no ${JSON.stringify(missing)}`);
  if (isNumber(minProperties) && names.length < minProperties)
    return says(at, `should have ${minProperties} members or more`);
  if (isNumber(maxProperties) && names.length > maxProperties)
    return says(at, `should have at most ${maxProperties} members`);
  const known = isObject(properties) ? properties : {};
  return firstOf(names, (name) =>
    within(Object.hasOwn(known, name) ? known[name] : additionalProperties, value[name], name),
  );
}

function ofChoices(
  { anyOf, oneOf, allOf, not }: Json,
  at: string,
  here: (inner: unknown) => string | undefined,
) {
  const fits = (inner: unknown) => here(inner) === undefined;
  if (Array.isArray(allOf)) {
    const wrong = firstOf(allOf, here);
    if (wrong !== undefined) return wrong;
  }
  if (Array.isArray(anyOf) && !anyOf.some(fits)) return says(at, 'fits none of anyOf');
  if (Array.isArray(oneOf) && oneOf.filter(fits).length !== 1)
    return says(at, 'should fit exactly one of oneOf');
  return not !== undefined && fits(not) ? says(at, 'fits what it should not') : undefined;
}

function firstOf<T>(items: readonly T[], of: (item: T, n: number) => string | undefined): string | undefined {
  for (const [n, item] of items.entries()) {
    const wrong = of(item, n);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** The same for values that are equal, whatever the order of their members. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? '';
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
}

const isSame = (one: unknown, other: unknown) => canonical(one) === canonical(other);

const says = (at: string, what: string) => (at === '' ? `it ${what}` : `${at.slice(0, 200)} ${what}`);

const isNumber = (value: unknown): value is number => typeof value === 'number';

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
