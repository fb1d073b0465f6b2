// The parts of the tools tab that are no drawing: fields, values, the events of a call, and what stays between calls.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CallAsked, CallEvents } from '../../../../src/inspector/page/feed/call-events.ts';
import { type Draft, fieldsOf, keyOf } from '../../../../src/inspector/page/tools/fields.ts';
import { readForm } from '../../../../src/inspector/page/tools/read-form.ts';
import { ToolBench } from '../../../../src/inspector/page/tools/tool-bench.ts';
import { visible, visibleName } from '../../../../src/inspector/page/visible-text.ts';
import type { CallEnd } from '../../../../src/inspector/wire/tool-wire.ts';

const drafts = (given: Readonly<Record<string, Draft>>) =>
  new Map(Object.entries(given).map(([path, draft]) => [keyOf(path.split('.')), draft]));
const read = (schema: object, given: Readonly<Record<string, Draft>> = {}) => {
  const { args, problems } = readForm(schema, fieldsOf(schema) ?? [], drafts(given));
  return (
    args ??
    Object.fromEntries(
      [...problems].map(([key, problem]) => [(JSON.parse(key) as string[]).join('.'), problem]),
    )
  );
};
const kinds = (schema: object) => fieldsOf(schema)?.map(({ name, kind }) => `${name} ${kind}`);

describe('the fields of a form', () => {
  const schema = {
    type: 'object',
    properties: {
      text: { type: 'string' },
      count: { type: 'integer', minimum: 1, default: 3 },
      ratio: { anyOf: [{ type: 'number' }, { type: 'null' }] },
      flag: { type: 'boolean' },
      size: { enum: ['small', 'large', 3] },
      titled: { oneOf: [{ const: 'a', title: 'First' }, { const: 'b' }] },
      model: { $ref: '#/$defs/Model' },
      tags: { type: 'array', items: { type: 'string' } },
      place: {
        type: 'object',
        properties: { x: { type: 'number' }, y: { type: 'number' } },
        required: ['x'],
      },
      any: {},
      map: { type: 'object', additionalProperties: { type: 'string' } },
      both: { type: ['string', 'number'] },
    },
    required: ['text'],
    $defs: { Model: { enum: ['m1', 'm2'] } },
  };

  test('are of the kinds that their schemas ask for, and JSON for the rest', () => {
    expect(kinds(schema)).toEqual([
      ...['text text', 'count number', 'ratio number', 'flag flag', 'size choice', 'titled choice'],
      ...['model choice', 'tags lines', 'place group', 'any json', 'map json', 'both json'],
    ]);
  });

  test('give what was given, and leave out the rest', () => {
    expect(read(schema, { text: ' a\n' })).toEqual({ text: ' a\n', count: 3 });
    const all = {
      text: 'a',
      count: '7',
      ratio: '.5',
      flag: false,
      size: '2',
      titled: '1',
      model: '0',
      tags: 'x\ny\n',
      any: '[1]',
    };
    expect(read(schema, { ...all, 'place.x': '1' })).toEqual({
      ...{
        text: 'a',
        count: 7,
        ratio: 0.5,
        flag: false,
        size: 3,
        titled: 'b',
        model: 'm1',
        tags: ['x', 'y'],
      },
      ...{ any: [1], place: { x: 1 } },
    });
  });

  test('tell what is wrong, each beside its own', () => {
    expect(read(schema, { count: '0.5', ratio: 'much', any: '{', 'place.y': '1' })).toEqual({
      text: 'is required; an empty text can be given as JSON',
      count: 'must be a whole number',
      ratio: 'must be a number',
      any: expect.stringContaining('is not JSON'),
      'place.x': 'is required',
    });
    expect(read(schema, { text: 'a', count: '0' })).toEqual({ count: 'must be at least 1' });
    expect(read(schema, { text: 'a', count: '12345678901234567890' })).toEqual({
      count: 'has too many digits to be sent as it is',
    });
  });

  test('are not made of what is too wide, and stop at a depth (FLD1)', () => {
    const properties = Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`p${at}`, {}]));
    expect(fieldsOf({ type: 'object', properties })).toBeUndefined();
    expect(fieldsOf({ anyOf: [{}, {}] })).toBeUndefined();
    const endless = { type: 'object', properties: { self: { $ref: '#' } } };
    expect(JSON.stringify(fieldsOf(endless))).toContain('"kind":"json"');
    expect(kinds({ $ref: '#' })).toBeUndefined();
  });
});

describe('the events of a call', () => {
  test('are the same, however they are cut into pieces', () => {
    const text = `: \n\nevent: progress\ndata: {"progress":1}\n\n: \n\nevent: end\ndata: {"ms":1,"text":"a\\n\\nb"}\n\n`;
    fc.assert(
      fc.property(fc.array(fc.nat({ max: text.length })), (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), text.length];
        const events = new CallEvents();
        const found = at.slice(1).flatMap((end, index) => events.take(text.slice(at[index], end)));
        expect(found).toEqual([
          { kind: 'progress', data: { progress: 1 } },
          { kind: 'end', data: { ms: 1, text: 'a\n\nb' } },
        ]);
      }),
    );
  });
});

describe('the bench of a server', () => {
  const end: CallEnd = { ms: 5, result: null, problem: null };

  test('has one call at a time, and keeps how the last one ended until the next has begun (TBN1)', async () => {
    const asked: CallAsked[] = [];
    const bench = new ToolBench('files', (call) => {
      asked.push(call);
      call.onProgress({ progress: 1, total: null, message: null });
      return new Promise((resolve, reject) => {
        call.signal.addEventListener('abort', () => reject(new Error('aborted')));
        if (call.tool !== 'slow') setTimeout(() => resolve(end), 5);
      });
    });
    const first = bench.call('quick', {});
    await bench.call('other', {});
    expect(asked.map(({ tool }) => tool)).toEqual(['quick']);
    expect(bench.running?.progress?.progress).toBe(1);
    await first;
    expect([bench.running, bench.last]).toEqual([undefined, { tool: 'quick', end }]);
    const slow = bench.call('slow', {});
    expect(bench.last).toBeUndefined();
    bench.cancel();
    await slow;
    expect(bench.last).toEqual({ tool: 'slow', end: expect.stringMatching(/^cancelled after \d+ ms$/) });
  });

  test('remembers what was given for the last tools (TBN2)', () => {
    const bench = new ToolBench('files', () => Promise.resolve(end));
    for (let at = 0; at < 60; at += 1) bench.give(`tool ${at}`, 'a', 'x');
    expect([...bench.formOf('tool 59').drafts]).toEqual([['a', 'x']]);
    expect([...bench.formOf('tool 0').drafts]).toEqual([]);
    bench.clear('tool 59');
    expect([...bench.formOf('tool 59').drafts]).toEqual([]);
  });
});

test('what nobody would see in a text is written out, and families stay together', () => {
  expect(visible('a\u202eb\u0007\n\tc\u001b[2J \ud800 👨‍👩‍👧')).toBe(
    'a\\u202eb\\u0007\n\tc\\u001b[2J \\ud800 👨‍👩‍👧',
  );
  expect(visibleName('a\nb\u200b')).toBe('a\\u000ab\\u200b');
  expect(visibleName('x'.repeat(300))).toBe(`${'x'.repeat(200)}…`);
});
