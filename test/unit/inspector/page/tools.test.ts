// Logic of the tools tab: fields, values, events of a call, and state between calls.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CallEvents, type PageCall } from '../../../../src/inspector/page/feed/call-events.ts';
import { type FieldDraft, fieldsOf, keyOf } from '../../../../src/inspector/page/tools/fields.ts';
import { parseForm } from '../../../../src/inspector/page/tools/parse-form.ts';
import { ToolWorkspace } from '../../../../src/inspector/page/tools/workspace.ts';
import { escapeName, visible } from '../../../../src/inspector/page/visible-text.ts';
import type { CallEnd } from '../../../../src/inspector/wire/tools.ts';

const drafts = (fieldDrafts: Readonly<Record<string, FieldDraft>>) =>
  new Map(Object.entries(fieldDrafts).map(([path, draft]) => [keyOf(path.split('.')), draft]));
const readFields = (schema: object, fieldDrafts: Readonly<Record<string, FieldDraft>> = {}) => {
  const { args, problems } = parseForm(schema, fieldsOf(schema) ?? [], drafts(fieldDrafts));
  return (
    args ??
    Object.fromEntries(
      [...problems].map(([key, problem]) => [(JSON.parse(key) as string[]).join('.'), problem]),
    )
  );
};
const kinds = (schema: object) => fieldsOf(schema)?.map(({ name, kind }) => `${name} ${kind}`);

describe('the form fields of a tool', () => {
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

  test('have an input type that fits their schema, or accept JSON text', () => {
    expect(kinds(schema)).toEqual([
      ...['text text', 'count number', 'ratio number', 'flag flag', 'size choice', 'titled choice'],
      ...['model choice', 'tags lines', 'place group', 'any json', 'map json', 'both json'],
    ]);
  });

  test('yield the given values and omit empty fields', () => {
    expect(readFields(schema, { text: ' a\n' })).toEqual({ text: ' a\n', count: 3 });
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
    expect(readFields(schema, { ...all, 'place.x': '1' })).toEqual({
      text: 'a',
      count: 7,
      ratio: 0.5,
      flag: false,
      size: 3,
      titled: 'b',
      model: 'm1',
      tags: ['x', 'y'],
      any: [1],
      place: { x: 1 },
    });
  });

  test('report problems per field', () => {
    expect(readFields(schema, { count: '0.5', ratio: 'much', any: '{', 'place.y': '1' })).toEqual({
      text: 'is required; enter an empty text as JSON',
      count: 'must be an integer',
      ratio: 'must be a number',
      any: expect.stringContaining('is not JSON'),
      'place.x': 'is required',
    });
    expect(readFields(schema, { text: 'a', count: '0' })).toEqual({ count: 'must be at least 1' });
    expect(readFields(schema, { text: 'a', count: '12345678901234567890' })).toEqual({
      count: 'has too many digits',
    });
  });

  test('do not exist for schemas with too many properties, and become JSON text if nested too deep', () => {
    const properties = Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`p${at}`, {}]));
    expect(fieldsOf({ type: 'object', properties })).toBeUndefined();
    expect(fieldsOf({ anyOf: [{}, {}] })).toBeUndefined();
    const endless = { type: 'object', properties: { self: { $ref: '#' } } };
    expect(JSON.stringify(fieldsOf(endless))).toContain('"kind":"json"');
    expect(kinds({ $ref: '#' })).toBeUndefined();
  });
});

describe('the event stream of a tool call', () => {
  test('is parsed into the same events, however it is split into chunks', () => {
    const text = `: \n\nevent: progress\ndata: {"progress":1}\n\n: \n\nevent: end\ndata: {"ms":1,"text":"a\\n\\nb"}\n\n`;
    fc.assert(
      fc.property(fc.array(fc.nat({ max: text.length })), (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), text.length];
        const events = new CallEvents();
        const parsedEvents = at.slice(1).flatMap((end, index) => events.take(text.slice(at[index], end)));
        expect(parsedEvents).toEqual([
          { kind: 'progress', data: { progress: 1 } },
          { kind: 'end', data: { ms: 1, text: 'a\n\nb' } },
        ]);
      }),
    );
  });
});

describe('the tool page of a server', () => {
  const end: CallEnd = { ms: 5, result: null, problem: null };

  test('has one call at a time, and keeps the last result until the next call starts', async () => {
    const requestedCalls: PageCall[] = [];
    const workspace = new ToolWorkspace('files', (call) => {
      requestedCalls.push(call);
      call.onProgress({ progress: 1, total: null, message: null });
      return new Promise((resolve, reject) => {
        call.signal.addEventListener('abort', () => reject(new Error('aborted')));
        if (call.tool !== 'slow') setTimeout(() => resolve(end), 5);
      });
    });
    const first = workspace.call('quick', {});
    await workspace.call('other', {});
    expect(requestedCalls.map(({ tool }) => tool)).toEqual(['quick']);
    expect(workspace.running?.progress?.progress).toBe(1);
    await first;
    expect([workspace.running, workspace.last]).toEqual([undefined, { tool: 'quick', end }]);
    const slow = workspace.call('slow', {});
    expect(workspace.last).toBeUndefined();
    workspace.cancel();
    await slow;
    expect(workspace.last).toEqual({ tool: 'slow', end: expect.stringMatching(/^cancelled after \d+ ms$/) });
  });

  test('remembers the inputs of recent tools', () => {
    const workspace = new ToolWorkspace('files', () => Promise.resolve(end));
    for (let at = 0; at < 60; at += 1) workspace.setDraft(`tool ${at}`, 'a', 'x');
    expect([...workspace.formOf('tool 59').drafts]).toEqual([['a', 'x']]);
    expect([...workspace.formOf('tool 0').drafts]).toEqual([]);
    workspace.clear('tool 59');
    expect([...workspace.formOf('tool 59').drafts]).toEqual([]);
  });
});

test('invisible characters are escaped, and emoji sequences stay intact', () => {
  expect(visible('a\u202eb\u0007\n\tc\u001b[2J \ud800 👨‍👩‍👧')).toBe(
    'a\\u202eb\\u0007\n\tc\\u001b[2J \\ud800 👨‍👩‍👧',
  );
  expect(escapeName('a\nb\u200b')).toBe('a\\u000ab\\u200b');
  expect(escapeName('x'.repeat(300))).toBe(`${'x'.repeat(200)}…`);
});
