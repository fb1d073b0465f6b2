// Schemas of list items, as tables of the checked members. The legacy revisions (2024-11-05 to 2025-11-25)
// share one table: later revisions only add optional members, and strict clients check the newest. Revision
// 2026-07-28 allows other JSON Schemas for tools: any root for a result, booleans for parameters.
//
// The official schemas are not loaded, for a fast start. Tests compare these tables with them.

import {
  anyObject,
  array,
  flag,
  object,
  oneOf,
  record,
  required,
  type Shape,
  type Substitute,
  text,
  whole,
} from '../../jsonrpc/json-shape.ts';
import { elementsOf } from '../../jsonrpc/members.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import { rawOf, type Span } from '../../jsonrpc/span.ts';
import type { ListKind } from './lists.ts';
import { isCompilable } from './output-schema.ts';

const BRACE = 0x7b;
const QUOTE = 0x22;

/** Returns true for a missing or null value. */
const isVoid = (bytes: Buffer, value: Span | undefined) =>
  value === undefined || rawOf(bytes, value) === 'null';

/** Members common to all item kinds. */
const common = {
  title: text,
  description: text,
  icons: array(
    object({
      src: required(text),
      mimeType: text,
      sizes: array(text),
      theme: oneOf('light', 'dark'),
    }),
  ),
  _meta: anyObject,
};

const timestamp =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

function isTimestamp(value: unknown): boolean {
  const [, day] = (typeof value === 'string' && timestamp.exec(value)) || [];
  // The date parser turns 30 February into a day in March, so the day is compared.
  return day !== undefined && new Date(day).toISOString().startsWith(day);
}

const resourceMembers = {
  ...common,
  mimeType: text,
  annotations: object({
    audience: array(oneOf('user', 'assistant')),
    priority: whole('a number from 0 to 1', (value) => typeof value === 'number' && value >= 0 && value <= 1),
    lastModified: whole('a timestamp', isTimestamp),
  }),
};

/** Substitute for a missing resource name, which is only displayed: the title or the URI. */
const displayName =
  (uri: string): Substitute =>
  (bytes, _name, siblings) => {
    const [first] = ['title', uri].flatMap((key) => siblings.get(key) ?? []).filter(isString(bytes));
    return first && rawOf(bytes, first);
  };

const isString = (bytes: Buffer) => (value: Span) => bytes[value.start] === QUOTE;

/** Type of the schema of arguments or structured results: always `object`, so it is added if missing. */
const objectType = required(oneOf('object'), (bytes, value) => {
  const types = elementsOf(bytes, value).map((element) => rawOf(bytes, element.value));
  return isVoid(bytes, value) || types.includes('"object"') ? '"object"' : undefined;
});

/** JSON Schema members for objects. `subschema` is the shape of property schemas. */
const schemaMembers = (subschema: Shape) => ({
  $schema: text,
  // An empty schema accepts every value, like `true`.
  properties: record(subschema, (bytes, value) => (rawOf(bytes, value) === 'false' ? '{"not":{}}' : '{}')),
  required: array(text),
});

const schemaOrFlag: Shape = {
  accepts: (value) => anyObject.accepts(value) || flag.accepts(value),
  repair: (draft, value) => draft.bytes[value.start] === BRACE || flag.repair(draft, value),
};

function toolShape(subschema: Shape, outputSchema: Shape): Shape {
  const inputSchema = object({ ...schemaMembers(subschema), type: objectType });
  return object({
    ...common,
    name: required(text),
    // A missing schema and the schema `true` accept any arguments.
    inputSchema: required(inputSchema, (bytes, value) => {
      const isOpen = isVoid(bytes, value) || (value !== undefined && rawOf(bytes, value) === 'true');
      return isOpen ? '{"type":"object"}' : undefined;
    }),
    outputSchema,
    annotations: object({
      title: text,
      readOnlyHint: flag,
      destructiveHint: flag,
      idempotentHint: flag,
      openWorldHint: flag,
    }),
    execution: object({ taskSupport: oneOf('required', 'optional', 'forbidden') }),
  });
}

const objectSchema = object({ ...schemaMembers(anyObject), type: objectType });

/** Result schema for legacy clients, which compile it when they read the list. */
const legacyOutputSchema: Shape = {
  accepts: (value) => objectSchema.accepts(value) && isCompilable(value),
  repair: (draft, value) => {
    const { bytes } = draft;
    const isSchema = bytes[value.start] === BRACE;
    if (isSchema && !isCompilable(JSON.parse(bytes.toString('utf8', value.start, value.end))))
      return draft.fault('is not a schema that clients can compile');
    return objectSchema.repair(draft, value);
  },
};

const otherShapes = {
  prompts: object({
    ...common,
    name: required(text),
    arguments: array(object({ name: required(text), title: text, description: text, required: flag })),
  }),
  resources: object({
    ...resourceMembers,
    uri: required(text),
    name: required(text, displayName('uri')),
    size: whole('a whole number', Number.isInteger),
  }),
  resourceTemplates: object({
    ...resourceMembers,
    uriTemplate: required(text),
    name: required(text, displayName('uriTemplate')),
  }),
};

/**
 * Shapes of list items by the protocol era of the client. An item valid for legacy clients (up to 2025-11-25)
 * is valid for modern clients.
 */
export const itemShapes: Readonly<Record<Era, Readonly<Record<ListKind, Shape>>>> = {
  legacy: {
    ...otherShapes,
    tools: toolShape(anyObject, legacyOutputSchema),
  },
  modern: { ...otherShapes, tools: toolShape(schemaOrFlag, object(schemaMembers(schemaOrFlag))) },
};
