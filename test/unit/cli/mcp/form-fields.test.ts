import { describe, expect, test } from 'vitest';
import { formFields, type LineResult } from '../../../../src/cli/mcp/form-fields.ts';

const form = {
  type: 'object',
  properties: {
    name: {
      type: 'string',
      title: 'Full name',
      description: 'As in the passport',
      minLength: 2,
      maxLength: 5,
    },
    agree: { type: 'boolean' },
    age: { type: 'integer', minimum: 1, maximum: 100, default: 42 },
    mail: { type: 'string', format: 'email' },
    born: { type: 'string', format: 'date' },
    site: { type: 'string', format: 'uri' },
    hero: {
      type: 'string',
      oneOf: [
        { const: 'h-1', title: 'Superman' },
        { const: 'h-2', title: 'Wonder\u001b[31m Woman' },
      ],
    },
    pet: { type: 'string', enum: ['p-1', 'p-2'], enumNames: ['Cats', 'Dogs'], default: 'p-1' },
    play: {
      type: 'array',
      items: { type: 'string', enum: ['2', 'Piano', 'Drums'] },
      minItems: 1,
      maxItems: 2,
      default: ['Piano'],
    },
    fish: {
      type: 'array',
      items: {
        anyOf: [
          { const: 'f-1', title: 'Tuna' },
          { const: 'f-2', title: 'Trout' },
        ],
      },
    },
  },
  required: ['name'],
};
const fields = Object.fromEntries(formFields(form).map((field) => [field.name, field]));
const readLine = (name: string, line: string): LineResult | undefined => fields[name]?.parse(line);
const value = (of: unknown) => ({ kind: 'value', value: of });
const nothing = { kind: 'nothing' };

describe('a form in a terminal', () => {
  test('prompts for each field with title, description, choices, type and default', () => {
    expect(fields.name).toMatchObject({
      intro: ['Full name (required): As in the passport'],
      prompt: 'name: ',
    });
    expect(fields.age?.prompt).toBe('age (integer, 1 to 100) [42]: ');
    expect(fields.agree?.prompt).toBe('agree (y/n): ');
    expect(fields.hero?.intro).toEqual(['hero', '  1 Superman (h-1)', '  2 Wonder Woman (h-2)']);
    expect(fields.play?.prompt).toBe('play (one or more, separated by commas) [Piano]: ');
  });

  test('accepts values that fit the schema: text, numbers, booleans, and choices', () => {
    expect(readLine('name', ' Anna ')).toEqual(value('Anna'));
    expect(readLine('agree', 'Y')).toEqual(value(true));
    expect(readLine('age', '7')).toEqual(value(7));
    expect(readLine('age', '')).toEqual(value(42));
    expect(readLine('mail', '')).toEqual(nothing);
    expect(readLine('mail', 'a@b.c')).toEqual(value('a@b.c'));
    expect(readLine('born', '2024-02-29')).toEqual(value('2024-02-29'));
    expect(['2', 'h-2', 'superman'].map((line) => readLine('hero', line))).toEqual(
      ['h-2', 'h-2', 'h-1'].map(value),
    );
    expect(readLine('pet', 'dogs')).toEqual(value('p-2'));
    expect(readLine('play', '3, 2')).toEqual(value(['Drums', '2']));
    expect(readLine('play', '')).toEqual(value(['Piano']));
    expect(readLine('fish', 'Tuna,1,2')).toEqual(value(['f-1', 'f-2']));
  });

  test('refuses all other values', () => {
    const bad = [
      ...[
        ['name', ''],
        ['name', 'A'],
        ['name', 'Annabelle'],
        ['agree', 'maybe'],
        ['age', '0'],
        ['age', '1.5'],
        ['age', '101'],
      ],
      ...[
        ['mail', 'nobody'],
        ['born', '2023-02-29'],
        ['born', 'today'],
        ['site', 'x'],
        ['hero', '3'],
        ['pet', 'p'],
        ['play', '2,Piano,3'],
        ['play', ','],
      ],
    ] as const;
    expect(
      bad.filter(([name, line]) => readLine(name as string, line as string)?.kind !== 'complaint'),
    ).toEqual([]);
  });
});
