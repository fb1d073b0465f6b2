import { describe, expect, test } from 'vitest';
import { exampleWords } from '../../../../src/cli/mcp/argument-words.ts';
import { readArguments } from '../../../../src/cli/mcp/call-arguments.ts';

const order = {
  type: 'object',
  properties: {
    code: { type: 'string', description: 'What is ordered' },
    count: { type: 'integer' },
    price: { type: 'number' },
    isGift: { type: 'boolean' },
    size: { enum: ['small', 'large', 3] },
    tags: { type: 'array', items: { type: 'string' } },
    rows: { type: 'array', items: { type: 'array', items: { type: 'number' } } },
    to: { $ref: '#/$defs/Address' },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
  },
  required: ['code'],
  $defs: {
    Address: {
      type: 'object',
      properties: { town: { type: 'string' }, number: { type: 'integer' } },
      required: ['town'],
    },
  },
};
const parse = (...typed: string[]) => readArguments(order, ['code=x', ...typed]);

describe('arguments of a tool call on the command line', () => {
  test('are converted by the types of the schema; text stays text', () => {
    expect(
      readArguments(order, ['code=007', 'count=3', 'price=.5', 'isGift=yes', 'size=3', 'note=null']),
    ).toEqual({
      values: { code: '007', count: 3, price: 0.5, isGift: true, size: 3, note: 'null' },
      problems: [],
    });
    expect(readArguments(order, ['code={"a":1}']).values).toEqual({ code: '{"a":1}' });
  });

  test('can contain an array as JSON or item by item, and an object as JSON or member by member', () => {
    expect(parse('tags=a', 'tags=b').values).toMatchObject({ tags: ['a', 'b'] });
    expect(parse('tags=a').values).toMatchObject({ tags: ['a'] });
    expect(parse('tags=["a","b"]').values).toMatchObject({ tags: ['a', 'b'] });
    expect(parse('tags=[1]').values).toMatchObject({ tags: ['[1]'] });
    expect(parse('rows=[1,2]').values).toMatchObject({ rows: [[1, 2]] });
    expect(parse('rows=[[1,2]]').values).toMatchObject({ rows: [[1, 2]] });
    expect(parse('to.town=Ulm', 'to.number=4').values).toMatchObject({ to: { town: 'Ulm', number: 4 } });
    expect(parse('to={"town":"Ulm"}', 'to.number=4').values).toMatchObject({
      to: { town: 'Ulm', number: 4 },
    });
  });

  test('with := are exact JSON, and override members of a JSON object', () => {
    expect(parse('note:=null', 'count:=7').values).toMatchObject({ note: null, count: 7 });
    expect(readArguments(order, ['count=2'], { code: 'y', count: 1, more: true })).toEqual({
      values: { code: 'y', count: 2, more: true },
      problems: [],
    });
  });

  test('are all checked, and all invalid ones are reported together, each with a suggestion', () => {
    const { problems } = readArguments(order, [
      ...[
        'cuont=1',
        'price=cheap',
        'size=huge',
        'isGift=1',
        'count=1.5',
        'to.number=1',
        'tags',
        'tags=x',
        'note=a',
        'note=b',
      ],
    ]);
    expect(problems).toEqual([
      '"tags" is not name=value',
      'unknown argument cuont; did you mean count?',
      'price: expected a number',
      'size cannot be huge; there are small, large, 3',
      'isGift: expected true or false',
      'count: expected an integer',
      'note occurs 2 times, but takes one value',
      'code is missing (string): What is ordered',
      'to.town is missing (string)',
    ]);
    expect(readArguments({ type: 'object', properties: {} }, ['a=1']).problems).toEqual([
      'unknown argument a: the tool has no arguments',
    ]);
    const edits = { type: 'array', items: { type: 'object', properties: { old: { type: 'string' } } } };
    expect(readArguments({ type: 'object', properties: { edits } }, ['edits.old=a']).problems).toEqual([
      "unknown argument edits.old; edits is a list: write each item as JSON, edits='{…}'",
    ]);
    expect(parse('count=9007199254740993').problems).toEqual(['count: expected an integer']);
  });

  test('may have additional names only if the schema allows them', () => {
    const open = { ...order, additionalProperties: { type: 'integer' } };
    expect(readArguments(open, ['code=x', 'other=1']).values).toEqual({ code: 'x', other: 1 });
    expect(readArguments({}, ['a=1']).values).toEqual({ a: '1' });
  });

  test('tolerate a schema with circular or missing references', () => {
    const endless = { $ref: '#/$defs/A', $defs: { A: { $ref: '#/$defs/A' } } };
    expect(readArguments(endless, ['a=1']).problems).toEqual([]);
    const tree = { type: 'object', properties: { sub: { $ref: '#' } }, required: ['sub'] };
    expect(exampleWords(tree)[0]).toMatch(/^'sub=\{/);
    expect(readArguments({ $ref: 'https://example.com/a' }, []).values).toEqual({});
  });

  test('are placeholders, defaults or allowed values in a generated example, quoted for a shell', () => {
    const schema = {
      properties: {
        path: { type: 'string' },
        since: { type: 'string', format: 'date' },
        mode: { enum: ["it's", 'b'] },
        depth: { type: 'integer', default: 3 },
        left: { type: 'string' },
      },
      required: ['path', 'since', 'mode', 'depth'],
    };
    expect(exampleWords(schema)).toEqual(['path=PATH', 'since=2026-01-31', `'mode=it'\\''s'`, 'depth=3']);
  });
});
