// Keywords that limit a value, in the form of current drafts. Keywords with invalid values are dropped,
// because providers validate them.

import type { SchemaLimits } from './shape.ts';

export type SchemaObject = Readonly<Record<string, unknown>>;

export function isMembers(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type IsValid = (value: unknown) => boolean;

const isNumber: IsValid = (value) => typeof value === 'number' && Number.isFinite(value);
const isCount: IsValid = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isShortText: IsValid = (value) => typeof value === 'string' && value !== '' && value.length <= 200;

const keywords: Readonly<Record<string, Readonly<Record<string, IsValid>>>> = {
  string: { minLength: isCount, maxLength: isCount, format: isShortText, pattern: isShortText },
  number: {
    minimum: isNumber,
    maximum: isNumber,
    exclusiveMinimum: isNumber,
    exclusiveMaximum: isNumber,
    multipleOf: (value) => isNumber(value) && (value as number) > 0,
  },
  array: { minItems: isCount, maxItems: isCount, uniqueItems: (value) => typeof value === 'boolean' },
};

/** Returns a type's valid limits, and a scalar's default value. */
export function readLimits(type: string, schema: SchemaObject): SchemaLimits {
  const current = type === 'number' || type === 'integer' ? currentBounds(schema) : schema;
  const known = keywords[type === 'integer' ? 'number' : type] ?? {};
  const limits = Object.entries(known).flatMap(([name, isValid]) =>
    isValid(current[name]) ? [[name, current[name]]] : [],
  );
  const { default: preset } = schema;
  const isScalar = typeof preset === 'string' || typeof preset === 'boolean' || isNumber(preset);
  return Object.fromEntries(isScalar && type !== 'array' ? [...limits, ['default', preset]] : limits);
}

/** Converts the bounds of draft 3 and 4: exclusive bounds were booleans. */
function currentBounds(schema: SchemaObject): SchemaObject {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, divisibleBy, ...others } = schema;
  return {
    multipleOf: divisibleBy,
    ...others,
    ...(exclusiveMinimum === true ? { exclusiveMinimum: minimum } : { minimum, exclusiveMinimum }),
    ...(exclusiveMaximum === true ? { exclusiveMaximum: maximum } : { maximum, exclusiveMaximum }),
  };
}
