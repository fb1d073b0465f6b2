// Results of the three search tools, and conversion of call_tool.

import { ListToolsResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { describe, expect, test } from 'vitest';
import { isSearchTool, rawSearchTools } from '../../../../../../actors/mcp/clients/search/definitions.ts';
import { ToolSearch } from '../../../../../../actors/mcp/clients/search/tool-search.ts';
import { applyEdits } from '../../../../../../actors/mcp/jsonrpc/apply-edits.ts';
import { readClientMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { toBuffer } from '../../../../../../actors/mcp/jsonrpc/span.ts';
import { describedServer } from '../../../../../fixtures/server/described-server.ts';
import { aggregateOf, ListedServer } from '../../../../../fixtures/server/listed-server.ts';

interface Result {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: Record<string, unknown>;
  readonly isError?: boolean;
}

const files = describedServer('files', [
  { name: 'read_file', title: 'Read file', description: 'Reads a file from the disk.' },
  { name: 'write_file', description: `Writes a file. ${'More about files. '.repeat(40)}` },
  { name: 'delete_all', description: 'Hidden: deletes every file.' },
]);
files.entry.tools.deny = ['delete_*'];
const git = describedServer('git', [{ name: 'log', description: 'History of the files of a branch. 读' }]);
const tagsById: Record<string, string[]> = { git: ['code', 'history'] };

function searchOver(...servers: ListedServer[]): ToolSearch {
  const aggregate = aggregateOf(() => servers.map(({ asManaged }) => asManaged));
  return new ToolSearch({ aggregate, tagsOf: (id) => tagsById[id] ?? [] });
}

const search = searchOver(files, git);
const parse = (raw: string) => JSON.parse(Buffer.from(raw, 'latin1').toString('utf8'));

const call = (rawParams: string) =>
  readClientMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${rawParams}}`));

function callSearchTool(name: string, rawArguments: string): Result {
  const answer = search.answer(call(`{"name":"${name}","arguments":${rawArguments}}`));
  if ('target' in answer) throw new Error('it became a call');
  return parse(answer.rawResult) as Result;
}

const toolsOf = (result: Result) =>
  (result.structuredContent?.tools ?? []) as { readonly name: string; readonly description?: string }[];
const find = (args: object) => callSearchTool('find_tools', JSON.stringify(args));

/** Returns the message that the server receives. */
function forwarded(rawParams: string): { server: string; params: string } {
  const envelope = call(rawParams);
  const converted = search.target(envelope);
  if (converted === undefined) throw new Error('it was not made a call');
  const text = toBuffer(applyEdits(envelope.bytes, converted.edits)).toString();
  const params = /^\{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":(.*)\}$/s.exec(text)?.[1];
  return { server: converted.target.server.id, params: params ?? '' };
}

const mistakeOf = (result: Result) => {
  expect(result.isError).toBe(true);
  expect(result.structuredContent).toBeUndefined();
  return result.content.map(({ text }) => text).join('\n');
};

const definitions = parse(rawSearchTools).tools as {
  name: string;
  inputSchema: object;
  outputSchema?: object;
}[];
const validator = new AjvJsonSchemaValidator();
const schemaOf = (name: string, which: 'inputSchema' | 'outputSchema') => {
  const schema = definitions.find((definition) => definition.name === name)?.[which];
  if (schema === undefined) throw new Error(`${name} has no ${which}`);
  return validator.getValidator(schema);
};

describe('the tool list in search mode', () => {
  test('has three tools in a form that the SDK accepts', () => {
    const { tools } = ListToolsResultSchema.parse(parse(rawSearchTools));
    expect(tools.map(({ name }) => name)).toEqual(['find_tools', 'describe_tool', 'call_tool']);
    expect(tools.map(({ annotations }) => annotations?.readOnlyHint)).toEqual([true, true, false]);
    for (const { name } of tools) expect(isSearchTool(name)).toBe(true);
    for (const name of ['toString', '__proto__', 'files__read_file', undefined])
      expect(isSearchTool(name)).toBe(false);
  });
});

describe('find_tools', () => {
  test('returns matching tools as structured content and as text, valid by its schema', () => {
    const { content, structuredContent, isError } = find({ query: 'read file' });
    expect(isError).toBeUndefined();
    expect(structuredContent).toMatchObject({
      tools: [
        {
          name: 'files__read_file',
          title: 'Read file',
          description: 'Reads a file from the disk.',
          server: 'files',
        },
        { name: 'files__write_file' },
        { name: 'git__log', tags: ['code', 'history'] },
      ],
      total: 3,
    });
    expect(JSON.parse(content[0]?.text ?? '')).toEqual(structuredContent);
    for (const query of ['read file', '', 'nothing at all like it', '读'])
      expect(schemaOf('find_tools', 'outputSchema')(find({ query }).structuredContent)).toMatchObject({
        valid: true,
      });
  });

  test('names the servers whose tools are not all known', () => {
    const over = searchOver(files, new ListedServer('slow'));
    const params = { name: 'find_tools', arguments: { query: 'read file' } };
    const request = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const answer = over.answer(readClientMessage(Buffer.from(JSON.stringify(request))));
    const { structuredContent } = parse('rawResult' in answer ? answer.rawResult : '');
    expect(structuredContent.hint).toBe('some tools of slow are not known yet; try again later');
  });

  test('cuts a long description between characters', () => {
    const [tool] = toolsOf(find({ query: 'write_file' }));
    expect(tool?.description).toMatch(/^Writes a file\. .*\w\.?…$/);
    expect(tool?.description?.length).toBeLessThanOrEqual(301);
    const wide = searchOver(describedServer('s', [{ name: 't', description: `a${'😀'.repeat(300)}` }]));
    const answer = wide.answer(call('{"name":"find_tools","arguments":{"query":"t"}}'));
    expect('rawResult' in answer && parse(answer.rawResult).structuredContent.tools[0].description).toBe(
      `a${'😀'.repeat(149)}…`,
    );
  });

  test('filters by server and tags, and respects the limit', () => {
    const names = (args: object) => toolsOf(find(args)).map(({ name }) => name);
    expect(names({ query: 'file', server: 'git' })).toEqual(['git__log']);
    expect(names({ query: 'file', tags: ['nothing', 'code'] })).toEqual(['git__log']);
    expect(names({ query: '', server: 'files' })).toEqual(['files__read_file', 'files__write_file']);
    expect(find({ query: 'file', limit: 1 }).structuredContent).toMatchObject({ tools: [{}], total: 3 });
  });

  test('returns all tools in order of their servers for an empty query, with the total number', () => {
    expect(find({ query: '', limit: 2 }).structuredContent).toMatchObject({
      tools: [{ name: 'files__read_file', score: 0 }, { name: 'files__write_file' }],
      total: 3,
      hint: '3 tools: files (2), git (1); shown: 2; use a query or a filter to find the others',
    });
    expect(find({ query: ' ' }).structuredContent?.hint).toBe('3 tools: files (2), git (1)');
  });

  test('suggests a remedy if it finds nothing', () => {
    const hint = (args: object) => find(args).structuredContent?.hint;
    expect(hint({ query: 'x', server: 'gti' })).toBe('there is no server "gti"; there are files, git');
    expect(hint({ query: 'x', tags: ['cod'] })).toBe('no server has such a tag; there are code, history');
    expect(hint({ query: 'qqqqq', server: 'git' })).toMatch(/^nothing found; .* omit server and tags/);
    expect(hint({ query: 'qqqqq' })).toMatch(/^nothing found; try other words, or an empty query/);
  });

  test('rejects a hidden tool like an unknown tool', () => {
    expect(JSON.stringify(find({ query: 'delete_all' }))).not.toContain('delete');
    expect(JSON.stringify(find({ query: '' }))).not.toContain('delete');
    expect(mistakeOf(callSearchTool('describe_tool', '{"name":"files__delete_all"}'))).not.toMatch(
      /mean.*delete/,
    );
    expect(
      search.target(call('{"name":"call_tool","arguments":{"name":"files__delete_all"}}')),
    ).toBeUndefined();
  });

  test.each([
    ['{}', 'query is missing: expected text ("" lists all tools)'],
    ['[]', 'arguments must be an object, found a list'],
    ['{"query":1}', 'query must be text ("" lists all tools), found 1'],
    [`{"query":"${'x'.repeat(1001)}"}`, 'query must have at most 1000 characters; a few words find more'],
    ['{"query":"x","server":null}', 'server must be the id of a server, found null'],
    ['{"query":"x","tags":"code"}', 'tags must be a list of strings, found text'],
    ['{"query":"x","tags":[1]}', 'tags must be a list of strings, found a list'],
    ['{"query":"x","limit":51}', 'limit must be a whole number from 1 to 50, found 51'],
    ['{"query":"x","limit":0.5}', 'limit must be a whole number from 1 to 50, found 0.5'],
    ['{"query":"x","limits":5}', 'unknown argument "limits"; did you mean limit?'],
    ['{"query":"x","zzz":5}', 'unknown argument "zzz"; find_tools accepts query, server, tags, limit'],
    ['{"query":"x","query":"y"}', 'query occurs twice'],
  ])('explains the mistake in %s', (args, message) => {
    expect(mistakeOf(callSearchTool('find_tools', args))).toBe(message);
    if (!args.includes('"y"'))
      expect(schemaOf('find_tools', 'inputSchema')(JSON.parse(args))).toMatchObject({ valid: false });
  });
});

describe('describe_tool', () => {
  test("returns the definition in the server's own bytes under the merged name", () => {
    const server = describedServer('s', []);
    const after =
      ',"inputSchema":{"type":"object","properties":{"n":{"maximum":12345678901234567890,"minimum":1.0}}},"x":"é"}';
    server.cache.lists.tools = [{ key: 't', before: '{"z":1e2, "name" : ', after }];
    server.cache.revision += 1;
    const answer = searchOver(server).answer(call('{"name":"describe_tool","arguments":{"name":"s__t"}}'));
    const raw = 'rawResult' in answer ? Buffer.from(answer.rawResult, 'latin1').toString('utf8') : '';
    const definition = `{"z":1e2, "name" : "s__t"${after}`;
    expect(raw).toContain(`"structuredContent":{"tool":${definition}}}`);
    expect(JSON.parse(raw).content).toEqual([{ type: 'text', text: definition }]);
    expect(schemaOf('describe_tool', 'outputSchema')(JSON.parse(raw).structuredContent)).toMatchObject({
      valid: true,
    });
  });

  test('suggests similar names for an unknown tool', () => {
    expect(mistakeOf(callSearchTool('describe_tool', '{"name":"read_file"}'))).toMatch(
      /^there is no tool "read_file"; did you mean files__read_file\b/,
    );
    expect(mistakeOf(callSearchTool('describe_tool', '{"name":"qqqqq"}'))).toBe(
      'there is no tool "qqqqq"; use find_tools to find the name',
    );
    expect(mistakeOf(callSearchTool('describe_tool', '{"name":""}'))).toBe(
      'name must be the name of a tool, found text',
    );
    expect(mistakeOf(callSearchTool('describe_tool', '{"tool":"x"}'))).toMatch(/^unknown argument "tool"/);
  });
});

describe('call_tool', () => {
  test('becomes a call of the tool, with the rest of the message unchanged', () => {
    expect(
      forwarded(
        '{ "_meta":{"progressToken":"é","x":1.0}, "name":"call_tool","arguments": {"name":"files__read_file", "arguments": {"n":12345678901234567890 , "path":"ü"} },"requestState":"s" }',
      ),
    ).toEqual({
      server: 'files',
      params:
        '{ "_meta":{"progressToken":"é","x":1.0}, "name":"read_file","arguments": {"n":12345678901234567890 , "path":"ü"},"requestState":"s" }',
    });
  });

  test('accepts its members in any order', () => {
    const { params } = forwarded('{"arguments":{"arguments":{"a":1},"name":"git__log"},"name":"call_tool"}');
    expect(params).toBe('{"arguments":{"a":1},"name":"log"}');
  });

  test('sends empty arguments if none are given', () => {
    const { params } = forwarded('{"name":"call_tool","arguments":{"name":"git__log"}}');
    expect(params).toBe('{"name":"log","arguments":{}}');
  });

  test.each([
    ['{"name":"call_tool"}', 'name is missing: expected the name of a tool'],
    ['{"name":"call_tool","arguments":[]}', 'arguments must be an object, found a list'],
    ['{"name":"call_tool","arguments":{"name":1}}', 'name must be the name of a tool, found 1'],
    [
      '{"name":"call_tool","arguments":{"name":"git__log","arguments":"{}"}}',
      'arguments must be an object, not JSON as text, found text',
    ],
    [
      '{"name":"call_tool","arguments":{"name":"git__log","path":"/"}}',
      `unknown argument "path"; put the arguments of the tool into "arguments"`,
    ],
    ['{"name":"call_tool","arguments":{"name":"git__log","name":"files__read_file"}}', 'name occurs twice'],
    ['{"name":"call_tool","arguments":{"name":"git__log","n\\u0061me":"x"}}', 'name occurs twice'],
    [
      '{"name":"call_tool","arguments":{"name":"find_tools"}}',
      'call find_tools directly, not through call_tool',
    ],
    [
      '{"name":"call_tool","arguments":{"name":"git__lgo"}}',
      'there is no tool "git__lgo"; did you mean git__log?',
    ],
  ])('explains the mistake in %s', (params, message) => {
    const envelope = call(params);
    expect(search.target(envelope)).toBeUndefined();
    const answer = search.answer(envelope);
    expect(mistakeOf('rawResult' in answer ? parse(answer.rawResult) : {})).toBe(message);
  });
});
