// Decides which of the shape's limits a provider accepts as keywords. Models read the other limits in the
// description.

import type { SchemaObject } from './read-limits.ts';
import type { SchemaShape } from './shape.ts';

/** `json`: JSON Schema of current drafts. `google`: OpenAPI schema of Gemini's function declarations. */
export type SchemaForm = 'json' | 'google';

/** Formats that all JSON Schema providers accept. */
const formats: ReadonlySet<unknown> = new Set([
  'date',
  'date-time',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'time',
  'uuid',
]);
const MAX_TEXT = 500;

interface SplitLimits {
  readonly accepted: SchemaObject;
  readonly rejected: SchemaObject;
}

/** Splits a shape's limits and permitted values. */
export function splitLimits(shape: SchemaShape, form: SchemaForm): SplitLimits {
  if (shape.kind !== 'scalar' && shape.kind !== 'array') return { accepted: {}, rejected: {} };
  const values = shape.kind === 'scalar' && shape.values !== undefined ? { enum: shape.values } : {};
  const limits = Object.entries({ ...values, ...shape.limits });
  const isAccepted = ([name, value]: readonly [string, unknown]) =>
    form === 'google' ? isGoogleKeyword(shape, name, value) : isJsonKeyword(name, value);
  return {
    accepted: Object.fromEntries(limits.filter(isAccepted)),
    rejected: Object.fromEntries(limits.filter((limit) => !isAccepted(limit))),
  };
}

/** Some providers accept only regular expressions in a provider-specific dialect. */
const isJsonKeyword = (name: string, value: unknown) =>
  name !== 'pattern' && (name !== 'format' || formats.has(value));

function isGoogleKeyword(shape: SchemaShape, name: string, value: unknown): boolean {
  if (name === 'format') return value === 'date-time';
  const isText = shape.kind === 'scalar' && shape.type === 'string';
  return name === 'enum' && isText && !(value as readonly unknown[]).includes('');
}

/** Describes limits: `(minLength: 2, pattern: ^a)`. Undefined without limits. */
export function limitTexts(limits: SchemaObject): string | undefined {
  const texts = Object.entries(limits).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return texts.length === 0 ? undefined : `(${texts.join(', ').slice(0, MAX_TEXT)})`;
}
