// Values as the words of a command line that call-values.ts reads, and an example of a call made from a schema alone.

import { isSame, type JsonSchema } from '../../../config/value-schema/schema-parts.ts';
import { shellWord } from '../views/shell-word.ts';
import { type Arguments, readArguments, shown } from './call-values.ts';
import { type Field, fieldsOf, itemField, objectPart, recordOf } from './schema-fields.ts';

/** Deeper than any form; a schema may contain itself. */
const MAX_DEPTH = 4;

/** Words that are read as these values by that schema; plain ones where there are such. A name with `=` in it cannot be a word. */
export function wordsOf(schema: JsonSchema, values: Arguments): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const plain = Array.isArray(value) ? value.map((item) => `${name}=${shown(item)}`) : [];
    const ways = [plain, [`${name}=${shown(value)}`]].filter((words) => words.length > 0);
    const isRead = (words: readonly string[]) => {
      const read = readArguments(schema, words).values;
      return Object.hasOwn(read, name) && isSame(read[name], value);
    };
    return ways.find(isRead) ?? [`${name}:=${JSON.stringify(value)}`];
  });
}

/** What `call` needs after the name of the tool, so that nothing required is missing: placeholders in capitals where text is wanted. */
export function exampleWords(schema: JsonSchema): string[] {
  const values = exampleOf(fieldsOf(schema), schema, 0);
  return wordsOf(schema, values).map(shellWord);
}

function exampleOf(fields: readonly Field[], root: JsonSchema, depth: number): Arguments {
  const required = fields.filter(({ isRequired }) => isRequired);
  return Object.fromEntries(required.map((field) => [field.name, sampleOf(field, root, depth)]));
}

function sampleOf(field: Field, root: JsonSchema, depth: number): unknown {
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
