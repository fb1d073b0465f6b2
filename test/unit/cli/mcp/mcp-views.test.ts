import { describe, expect, test } from 'vitest';
import { groupByServer } from '../../../../src/cli/mcp/list-notes.ts';
import { ProgressLine, progressText } from '../../../../src/cli/mcp/progress-line.ts';
import { formatContents, formatMessages, formatResult } from '../../../../src/cli/views/results.ts';
import {
  firstSentence,
  groupLines,
  promptWithArguments,
  resourceLines,
  toolPage,
} from '../../../../src/cli/views/tools.ts';
import { plain } from '../../../../src/terminal/paint.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('a result in a terminal', () => {
  test('is shown as text without control sequences; other content as type and size', () => {
    const { lines, attachments, text } = formatResult(
      {
        content: [
          { type: 'text', text: 'one\u001b]0;title\u0007\ntwo\u202e\n' },
          { type: 'image', mimeType: 'image/png', data: base64('x'.repeat(1234)) },
          { type: 'audio', mimeType: 'audio/wav', data: base64('x') },
          { type: 'resource', resource: { uri: 'a://b', mimeType: 'text/plain', text: 'inside' } },
          { type: 'resource', resource: { uri: 'a://c', blob: base64('xy') } },
          { type: 'resource_link', uri: 'a://d', name: 'D', description: 'a \u001b[31mlink' },
          { type: 'unheard', of: 1 },
        ],
      },
      false,
    );
    expect(lines).toEqual([
      'one\ntwo',
      '[image: image/png, 1.2 kB; --output FILE saves it]',
      '[audio: audio/wav, 1 B; --output FILE saves it]',
      '[resource a://b: text/plain]',
      'inside',
      '[resource a://c: unknown type, 2 B; --output FILE saves it]',
      '[link a://d: D, a link]',
      '{"type":"unheard","of":1}',
    ]);
    expect(attachments.map(({ type, bytes }) => [type, bytes.length])).toEqual([
      ['image/png', 1234],
      ['audio/wav', 1],
      ['unknown type', 2],
    ]);
    expect(text).toContain('title');
  });

  test('shows structured content once, as JSON', () => {
    const structuredContent = { b: 1, a: ['\u001b'] };
    const repeated = { type: 'text', text: JSON.stringify({ a: ['\u001b'], b: 1 }) };
    expect(formatResult({ content: [repeated], structuredContent }, false).lines).toEqual([
      '{"b":1,"a":["\\u001b"]}',
    ]);
    const other = { type: 'text', text: 'also' };
    expect(formatResult({ content: [other], structuredContent: {} }, true).lines).toEqual(['also', '{}']);
    const wrapped = { content: [{ type: 'text', text: 'a\nb' }], structuredContent: { content: 'a\nb' } };
    expect(formatResult(wrapped, true).lines).toEqual(['a\nb']);
    expect(formatResult({}, false).lines).toEqual([]);
  });

  test('is shown as text for a resource, as messages with roles for a prompt', () => {
    expect(formatContents({ contents: [{ uri: 'a://b', text: 'x\ny\n' }] }).lines).toEqual(['x\ny']);
    expect(
      formatContents({
        contents: [
          { uri: 'a', text: 'x' },
          { uri: 'b', text: 'y' },
        ],
      }).lines,
    ).toHaveLength(4);
    const messages = [{ role: 'user', content: { type: 'text', text: 'x\ny' } }];
    expect(formatMessages({ messages }).lines).toEqual(['user:', '  x\n  y']);
  });
});

describe('lists in a terminal', () => {
  test('have one line per item with its first sentence', () => {
    expect(firstSentence({ description: 'Reads v1.2 files. And more.' })).toBe('Reads v1.2 files.');
    expect(firstSentence({ description: 'First line\ngoes on\n\nSecond' })).toBe('First line goes on');
    expect(firstSentence({ title: 'Title', description: ' ' })).toBe('Title');
    const items = [{ name: 'a', description: 'What a\u001b[2J does.' }, { name: 'longer' }];
    expect(groupLines([{ title: 'files', items }], 'tool', plain, 16)).toEqual([
      'files (2 tools)',
      '  a       What a',
      '  longer',
    ]);
    expect(resourceLines([{ uri: 'a://b', name: 'B' }], [{ uriTemplate: 'a://{x}' }])).toEqual([
      'RESOURCE  NAME  TYPE  DESCRIPTION',
      'a://b     B     -',
      '',
      'TEMPLATE  NAME  TYPE  DESCRIPTION',
      'a://{x}         -',
    ]);
    const prompt = { name: 'p', arguments: [{ name: 'city', required: true }, { name: 'state' }] };
    expect(promptWithArguments(prompt)).toEqual({ name: 'p', description: 'arguments: city [state]' });
  });

  test('are grouped by server in catalog order, by the longest matching id', () => {
    const items = ['b__x', 'a__b__y', 'a__z', 'search_tools'].map((name) => ({ name }));
    const groups = groupByServer(items, ['a', 'a__b', 'b']).map(({ title, items: own }) => [
      title,
      own.map(({ name }) => name),
    ]);
    expect(groups).toEqual([
      ['the gateway itself', ['search_tools']],
      ['a', ['a__z']],
      ['a__b', ['a__b__y']],
      ['b', ['b__x']],
    ]);
  });

  test('show a single tool with its arguments, also nested ones, and an example call', () => {
    const inputSchema = {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'Where' },
        depth: { type: 'integer', minimum: 1, maximum: 5, default: 2 },
        kind: { enum: ['a', 'b'] },
        edits: { type: 'array', items: { type: 'object', properties: { old: { type: 'string' } } } },
      },
      required: ['path', 'kind'],
    };
    const tool = {
      name: 'walk',
      title: 'Walk',
      description: 'Walks.\n\nFar.',
      inputSchema,
      annotations: { readOnlyHint: true, destructiveHint: true },
    };
    expect(
      toolPage('my files', tool, plain, { program: 'actor-gateway', options: ['--catalog', 'my file'] }),
    ).toEqual([
      ...['my files walk', 'Walk', '', 'Walks.\n\nFar.', '', 'According to its server: changes nothing.', ''],
      'ARGUMENT     TYPE             REQUIRED  DEFAULT  ALLOWED  MEANING',
      'path         string           yes       -        -        Where',
      'depth        integer          no        2        1 to 5',
      'kind         string           yes       -        a, b',
      'edits        array of object  no        -        -',
      'edits[].old  string           no        -        -',
      ...['', 'Example:', "  actor-gateway tools call 'my files' walk path=PATH kind=a --catalog 'my file'"],
    ]);
    expect(toolPage('s', { name: 't' }, plain, { program: 'p', options: [] })).toContain('No arguments.');
    const optionName = { name: '--url=https://evil.example' };
    expect(toolPage('s', optionName, plain, { program: 'p', options: ['--config', 'x'] }).at(-1)).toBe(
      '  p tools call --config x -- s --url=https://evil.example',
    );
  });
});

describe('progress', () => {
  test('is one line, redrawn below printed lines, and absent without a terminal', () => {
    expect(progressText({ progress: 2, total: 5, message: 'a\u001b[2Jb\nc' })).toBe(' 40 %  2 of 5  ab c');
    expect(progressText({ progress: 7 })).toBe('7');
    const draw = (isTTY: boolean) => {
      let output = '';
      const line = new ProgressLine({ isTTY, columns: 12, write: (text) => (output += text) }, {});
      line.show({ progress: 2, total: 5, message: 'too long' });
      line.printAbove(() => (output += 'said\n'));
      line.close();
      return output;
    };
    expect(draw(true)).toBe('\r\u001b[K 40 %  2 of\r\u001b[Ksaid\n\r\u001b[K 40 %  2 of\r\u001b[K');
    expect(draw(false)).toBe('said\n');
  });
});
