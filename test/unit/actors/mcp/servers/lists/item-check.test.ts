// List items of servers, and the same items in merged lists.

import { describe, expect, test } from 'vitest';
import { JsonScanner } from '../../../../../../actors/mcp/jsonrpc/json-scanner.ts';
import { checkItem } from '../../../../../../actors/mcp/servers/lists/item-check.ts';
import {
  itemJson,
  type ListItem,
  type ListKind,
  readItem,
} from '../../../../../../actors/mcp/servers/lists/lists.ts';

const itemOf = (kind: ListKind, json: string) =>
  readItem(new JsonScanner(Buffer.from(json)), kind) as ListItem;

function formsOf(
  kind: ListKind,
  json: string,
): { legacy?: string; modern?: string; faults: readonly string[] } {
  const { forms, faults } = checkItem(kind, itemOf(kind, json));
  return forms === undefined
    ? { faults }
    : { legacy: itemJson(forms.legacy), modern: itemJson(forms.modern), faults };
}

const schema = '"inputSchema":{"type":"object"}';

test.each<[ListKind, string]>([
  ['tools', `{"name":"a",${schema}}`],
  [
    'tools',
    ` { "name" : "a" , "x" : 1.0, "big": 12345678901234567890, "inputSchema" : {"type":"object","x":null} }`.trim(),
  ],
  ['tools', `{"name":"a",${schema},"description":"\\ud83d\\ude00 \\\\ud83d"}`],
  ['tools', `{"name":"a","name":"b","title":5,"title":"t",${schema}}`],
  ['tools', `{"name":"a","inputSchema":{"type":"object","properties":{"p":{}},"required":["p"],"anyOf":[]}}`],
  ['prompts', '{"name":"a","arguments":[{"name":"b","required":true}]}'],
  [
    'resources',
    '{"uri":"a:b","name":"","size":5,"annotations":{"priority":0.5,"lastModified":"2024-02-29T10:00:00Z"}}',
  ],
  ['resourceTemplates', '{"uriTemplate":"a:{b}","name":"c","_meta":{"x":null}}'],
])('a valid item of a list of %s stays unchanged: %s', (kind, json) => {
  const item = itemOf(kind, json);
  expect(checkItem(kind, item)).toEqual({ forms: { legacy: item, modern: item }, faults: [] });
});

const object = '{"type":"object"}';

describe('an invalid item in a list of a server', () => {
  test.each<[ListKind, string, string]>([
    ['tools', '{"name":"a"}', `{"inputSchema":${object},"name":"a"}`],
    ['tools', '{"name":"a","inputSchema":null}', `{"inputSchema":${object},"name":"a"}`],
    ['tools', '{"name":"a","inputSchema":true}', `{"inputSchema":${object},"name":"a"}`],
    [
      'tools',
      '{"name":"a","inputSchema":{"anyOf":[]}}',
      '{"name":"a","inputSchema":{"type":"object","anyOf":[]}}',
    ],
    ['tools', '{"name":"a","inputSchema":{"type":null}}', `{"name":"a","inputSchema":${object}}`],
    [
      'tools',
      '{"name":"a","inputSchema":{"type":["null","object"]}}',
      `{"name":"a","inputSchema":${object}}`,
    ],
    [
      'tools',
      `{"name":"a","inputSchema":{"type":"object","properties":null}}`,
      `{"name":"a","inputSchema":${object}}`,
    ],
    [
      'tools',
      '{"name":"a","inputSchema":{"type":"object","required":[null,"b",5],"x":1.0}}',
      '{"name":"a","inputSchema":{"type":"object","required":["b"],"x":1.0}}',
    ],
    [
      'tools',
      '{"name":"a","inputSchema":{"properties":{"b":null,"c":{}},"type":"object"}}',
      '{"name":"a","inputSchema":{"properties":{"b":{},"c":{}},"type":"object"}}',
    ],
    ['tools', `{"title":null,"name":"a","description":5,${schema}}`, `{"name":"a",${schema}}`],
    ['tools', `{"name":"a","annotations":null,${schema},"_meta":[]}`, `{"name":"a",${schema}}`],
    [
      'tools',
      `{"name":"a","annotations":{"readOnlyHint":"yes","x":1e2},${schema}}`,
      `{"name":"a","annotations":{"x":1e2},${schema}}`,
    ],
    [
      'tools',
      `{"name":"a","execution":{"taskSupport":"maybe"},${schema}}`,
      `{"name":"a","execution":{},${schema}}`,
    ],
    [
      'tools',
      `{"name":"a","icons":[null,{"src":"s","sizes":"x","theme":"red"},{"mimeType":"m"}],${schema}}`,
      `{"name":"a","icons":[{"src":"s"}],${schema}}`,
    ],
    [
      'tools',
      `{"name":"a","description":"\\ud83d!","inputSchema":{"type":"object","\\ude00":["\\uDe00\\ud83d"]}}`,
      `{"name":"a","description":"\\ufffd!","inputSchema":{"type":"object","\\ufffd":["\\ufffd\\ufffd"]}}`,
    ],
    ['prompts', '{"name":"a","arguments":null}', '{"name":"a"}'],
    [
      'prompts',
      '{"name":"a","arguments":["b",{"description":"c"},{"name":"d","required":"yes"}]}',
      '{"name":"a","arguments":[{"name":"d"}]}',
    ],
    ['resources', '{"uri":"a:b"}', '{"name":"a:b","uri":"a:b"}'],
    ['resources', '{"uri":"a:b","name":null,"title":"T"}', '{"name":"T","uri":"a:b","title":"T"}'],
    ['resources', '{"uri":"a:b","name":"c","size":"5"}', '{"uri":"a:b","name":"c"}'],
    ['resources', '{"uri":"a:b","name":"c","size":1e999}', '{"uri":"a:b","name":"c"}'],
    [
      'resources',
      '{"uri":"a:b","name":"c","annotations":{"audience":["user","dog"],"priority":2,"lastModified":"2023-02-29T10:00:00Z"}}',
      '{"uri":"a:b","name":"c","annotations":{"audience":["user"]}}',
    ],
    [
      'resourceTemplates',
      '{"uriTemplate":"a:{b}","mimeType":null}',
      '{"name":"a:{b}","uriTemplate":"a:{b}"}',
    ],
  ])('of %s is repaired: %s', (kind, json, repaired) => {
    const { legacy, modern, faults } = formsOf(kind, json);
    expect([legacy, modern]).toEqual([repaired, repaired]);
    expect(faults).not.toEqual([]);
  });

  test.each<[ListKind, string, string]>([
    ['tools', '{"name":"a","inputSchema":{"type":"string"}}', 'inputSchema.type is "string", not "object"'],
    ['tools', '{"name":"a","inputSchema":"none"}', 'inputSchema is "none", not an object'],
    ['tools', `{"name":"a","name":5,${schema}}`, 'name is 5, not a string'],
    ['resources', '{"uri":"a:\\ud83d","name":"c"}', 'its address contains a lone surrogate'],
    [
      'resourceTemplates',
      '{"uriTemplate":"a:\\ud83d{b}","name":"c"}',
      'its address contains a lone surrogate',
    ],
  ])('of %s is omitted: %s', (kind, json, fault) => {
    expect(formsOf(kind, json)).toEqual({ faults: expect.arrayContaining([fault]) });
  });

  test('with a lone surrogate in its name is still found by that name', () => {
    const { forms, faults } = checkItem('tools', itemOf('tools', `{"name":"cut \\ud83d",${schema}}`));
    expect([forms?.legacy.key, faults]).toEqual(['cut \ud83d', ['it contains a lone surrogate']]);
  });

  test('that is valid since revision 2026-07-28 is repaired only for clients of older revisions', () => {
    const json = `{"name":"a",${schema},"outputSchema":{"type":"array"}}`;
    expect(formsOf('tools', json)).toMatchObject({ legacy: `{"name":"a",${schema}}`, modern: json });
    const open = '{"name":"a","inputSchema":{"type":"object","properties":{"b":true,"c":false}}}';
    expect(formsOf('tools', open)).toMatchObject({
      legacy: '{"name":"a","inputSchema":{"type":"object","properties":{"b":{},"c":{"not":{}}}}}',
      modern: open,
    });
  });
});
