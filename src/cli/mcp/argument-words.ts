// Formats tool arguments for a command line (`path=hello.txt`), the inverse of call-arguments.ts.
// Also creates example arguments from the tool's schema.

import { isSame, type JsonSchema } from '../../../config/value-schema/schema-parts.ts';
import { shellWord } from '../views/shell-word.ts';
import { type Arguments, formatValue, readArguments } from './call-arguments.ts';
import { fieldsOf, type InputField, itemField, objectPart, recordOf } from './schema-fields.ts';

/** Nesting of the example; limits recursive schemas. */
const MAX_DEPTH = 4;

/**
 * Returns words that call-arguments.ts parses to these values. Prefers `name=value` to `name:=JSON`. A name
 * that contains `=` cannot be expressed.
 */
export function argumentWords(schema: JsonSchema, values: Arguments): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const repeatedForm = Array.isArray(value) ? value.map((item) => `${name}=${formatValue(item)}`) : [];
    const forms = [repeatedForm, [`${name}=${formatValue(value)}`]].filter((words) => words.length > 0);
    const parsesBack = (words: readonly string[]) => {
      const parsed = readArguments(schema, words).values;
      return Object.hasOwn(parsed, name) && isSame(parsed[name], value);
    };
    return forms.find(parsesBack) ?? [`${name}:=${JSON.stringify(value)}`];
  });
}

/** Returns example words for the required arguments. The placeholder for text is the name in capitals. */
export function exampleWords(schema: JsonSchema): string[] {
  const values = exampleOf(fieldsOf(schema), schema, 0);
  return argumentWords(schema, values).map(shellWord);
}

function exampleOf(fields: readonly InputField[], root: JsonSchema, depth: number): Arguments {
  const required = fields.filter(({ isRequired }) => isRequired);
  return Object.fromEntries(required.map((field) => [field.name, sampleOf(field, root, depth)]));
}

function sampleOf(field: InputField, root: JsonSchema, depth: number): unknown {
  const { schema, choices = [], types } = field;
  if (field.hasDefault) return field.default;
  const examples = Array.isArray(schema.examples) ? schema.examples : [];
  if (examples.length > 0) return examples[0];
  if (choices.length > 0) return choices[0];
  const [type = 'string'] = types;
  if (type === 'integer' || type === 'number') return typeof schema.minimum === 'number' ? schema.minimum : 1;
  if (type === 'boolean') return true;
  if (type === 'null') return null;
  if (type === 'array') return depth < MAX_DEPTH ? [sampleOf(itemField(field, root), root, depth + 1)] : [];
  if (type === 'object') {
    const part = objectPart(field, root);
    return depth < MAX_DEPTH ? exampleOf(fieldsOf(part, root), root, depth + 1) : {};
  }
  return placeholder(field.name, recordOf(schema).format);
}

const samples: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  email: 'name@example.com',
  uri: 'https://example.com/',
};

function placeholder(name: string, format: unknown): string {
  const sample = typeof format === 'string' && Object.hasOwn(samples, format) ? samples[format] : undefined;
  return sample ?? name.toUpperCase();
}
