// All tools of the built filesystem server, called by a client of the public SDK over stdio.

import {
  chmodSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { FilesystemClient, testFolder } from '../../fixtures/tool-servers/filesystem-server.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPhfDwAChAGAJtyPvgAAAABJRU5ErkJggg==',
  'base64',
);

let parent: string;
let folder: string;
let server: FilesystemClient;

const file = (name: string, content: string | Uint8Array = '') => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

const onDisk = (name: string) => readFileSync(join(folder, name), 'utf8');

beforeAll(async () => {
  parent = testFolder();
  folder = join(parent, 'allowed');
  mkdirSync(folder);
  writeFileSync(join(parent, 'secret.txt'), 'not for you');
  server = await FilesystemClient.start([folder], { roots: [`file://${parent}`] });
});

describe('the filesystem server', () => {
  test('offers all tools with title, description, four hints, described parameters and a strict schema', async () => {
    const { tools } = await server.client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual([
      'create_directory',
      'directory_tree',
      'edit_file',
      'get_file_info',
      'list_allowed_directories',
      'list_directory',
      'list_directory_with_sizes',
      'move_file',
      'read_file',
      'read_media_file',
      'read_multiple_files',
      'read_text_file',
      'search_files',
      'write_file',
    ]);
    for (const { name, title, description, annotations, inputSchema } of tools) {
      expect(title, name).toBeTruthy();
      expect(description?.length, name).toBeGreaterThan(80);
      const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations ?? {};
      for (const hint of [readOnlyHint, destructiveHint, idempotentHint]) expect(typeof hint).toBe('boolean');
      expect(openWorldHint, name).toBe(false);
      expect(inputSchema.additionalProperties, name).toBe(false);
      for (const [parameter, schema] of Object.entries(inputSchema.properties ?? {}))
        expect(schema, `${name} ${parameter}`).toHaveProperty('description');
    }
  });

  test('lists the allowed folders in its instructions', () => {
    expect(server.client.getInstructions()).toContain(folder);
  });

  test('never requests roots, and accepts none', async () => {
    await server.client.sendRootsListChanged();
    const { structured } = await server.call('list_allowed_directories');
    expect(structured).toEqual({ directories: [folder], isReadOnly: false });
    expect(await server.refusal('read_file', { path: join(parent, 'secret.txt') })).not.toContain(
      'not for you',
    );
    expect(server.rootsRequests).toBe(0);
  });

  test('rejects unknown parameters, naming them', async () => {
    file('strict.txt', 'x');
    expect(await server.refusal('read_file', { path: 'strict.txt', lines: 3 })).toContain('lines');
    expect(await server.refusal('write_file', { path: 'strict.txt' })).toContain('content');
  });
});

describe('read_file', () => {
  test.each(['read_file', 'read_text_file'])('as %s returns a text unchanged', async (tool) => {
    const text = 'grüße 🎭\r\n\ttab\nno end';
    file('exact.txt', text);
    const answer = await server.call(tool, { path: 'exact.txt' });
    expect(answer.content).toEqual([{ type: 'text', text }]);
    expect(answer.structured).toEqual({});
  });

  test('returns the first and the last lines, with a notice of the omitted lines', async () => {
    file('lines.txt', Array.from({ length: 100 }, (_, index) => `line ${index + 1}\n`).join(''));
    const head = await server.call('read_file', { path: 'lines.txt', head: 2 });
    expect(head.text).toBe('line 1\nline 2\n');
    expect(head.content[1]?.text).toContain('starts at offset 14');
    const tail = await server.call('read_file', { path: 'lines.txt', tail: 2 });
    expect(tail.text).toBe('line 99\nline 100\n');
  });

  test('returns the end of a huge file immediately', async () => {
    const path = file('huge.log');
    truncateSync(path, 200 * 1_024 ** 3);
    writeFileSync(path, '\nthe end\n', { flag: 'a' });
    const start = performance.now();
    const { text } = await server.call('read_file', { path, tail: 1 });
    expect(text).toBe('the end\n');
    // Reading 200 GB needs more time.
    expect(performance.now() - start).toBeLessThan(10_000);
    truncateSync(path, 0);
  });

  test('truncates text longer than one answer, and the notices lead through the rest', async () => {
    const text = 'äöü€😀'.repeat(200_000);
    file('long.txt', text);
    let wholeText = '';
    let calls = 0;
    let offset: number | undefined = 0;
    while (offset !== undefined) {
      const answer = await server.call('read_file', { path: 'long.txt', offset });
      wholeText += answer.text;
      calls++;
      const next = /starts at offset (\d+)/.exec(answer.content[1]?.text ?? '')?.[1];
      offset = next === undefined ? undefined : Number(next);
    }
    expect(calls).toBe(3);
    expect(wholeText).toBe(text);
  });

  test('omits a byte order mark with a notice', async () => {
    file('bom.txt', '\uFEFFtext');
    const { text, content } = await server.call('read_file', { path: 'bom.txt' });
    expect(text).toBe('text');
    expect(content[1]?.text).toContain('byte order mark');
  });

  test('returns an empty text for an empty file', async () => {
    file('empty.txt');
    for (const part of [{}, { head: 5 }, { tail: 5 }, { offset: 0 }])
      expect((await server.call('read_file', { path: 'empty.txt', ...part })).text).toBe('');
  });

  test('rejects binary files, naming the right tool', async () => {
    file('latin1.txt', Buffer.from('caf\xe9', 'latin1'));
    file('utf16.txt', Buffer.from('\uFEFFhello', 'utf16le'));
    file('picture', PNG);
    expect(await server.refusal('read_file', { path: 'latin1.txt' })).toContain('is not UTF-8 text');
    expect(await server.refusal('read_file', { path: 'utf16.txt' })).toContain('UTF-16');
    expect(await server.refusal('read_file', { path: 'picture' })).toContain('read_media_file');
  });

  test('rejects head together with tail, and an offset after the end', async () => {
    file('short.txt', 'abc');
    expect(await server.refusal('read_file', { path: 'short.txt', head: 1, tail: 1 })).toContain('only one');
    expect(await server.refusal('read_file', { path: 'short.txt', offset: 4 })).toContain('3 bytes');
    expect((await server.call('read_file', { path: 'short.txt', offset: 3 })).text).toBe('');
  });

  test('rejects folders and missing or outside paths, and does not reveal what exists', async () => {
    mkdirSync(join(folder, 'a folder'));
    expect(await server.refusal('read_file', { path: 'a folder' })).toContain('a folder');
    expect(await server.refusal('read_file', { path: 'missing' })).toContain('missing');
    symlinkSync(join(parent, 'secret.txt'), join(folder, 'trap'));
    for (const path of [
      '../secret.txt',
      join(parent, 'secret.txt'),
      'trap',
      '/etc/passwd',
      '/proc/self/environ',
    ])
      expect(await server.refusal('read_file', { path }), path).not.toMatch(/not for you|root:|PATH=/);
    expect(await server.refusal('read_file', { path: 'a\0b' })).not.toBe('');
  });
});

describe('read_multiple_files', () => {
  test('returns each file as a separate part, with a separate error for a file that cannot be read', async () => {
    file('one.txt', 'first');
    file('two.txt', 'second');
    const { content, isError } = await server.call('read_multiple_files', {
      paths: ['one.txt', 'missing.txt', '../secret.txt', 'two.txt'],
    });
    expect(isError).toBe(false);
    expect(content.map(({ text }) => text)).toEqual([
      'one.txt:\nfirst',
      expect.stringMatching(/^missing\.txt: Error - /),
      expect.stringMatching(/^\.\.\/secret\.txt: Error - /),
      'two.txt:\nsecond',
    ]);
  });

  test('is an error if no file could be read', async () => {
    expect(await server.refusal('read_multiple_files', { paths: ['none', 'nowhere'] })).toContain('nowhere');
  });

  test('never returns more than the maximum size of an answer', async () => {
    file('big1.txt', 'x'.repeat(700_000));
    file('big2.txt', 'y'.repeat(700_000));
    const { content } = await server.call('read_multiple_files', {
      paths: ['big1.txt', 'big2.txt', 'one.txt'],
    });
    expect(content[0]?.text).toHaveLength('big1.txt:\n'.length + 700_000);
    expect(content[1]?.text).toContain('The next part starts at offset 348576.');
    expect(content[2]?.text).toContain('omitted');
  });

  test('accepts at most a hundred files', async () => {
    const { content } = await server.call('read_multiple_files', { paths: Array(100).fill('one.txt') });
    expect(content).toHaveLength(100);
    expect(await server.refusal('read_multiple_files', { paths: Array(101).fill('one.txt') })).toContain(
      '100',
    );
  });
});

describe('read_media_file', () => {
  test('returns a picture as image content with the type of its bytes', async () => {
    file('really-png.jpg', PNG);
    const { content } = await server.call('read_media_file', { path: 'really-png.jpg' });
    expect(content[1]).toEqual({ type: 'image', data: PNG.toString('base64'), mimeType: 'image/png' });
  });

  test('returns sound as audio content', async () => {
    const wav = Buffer.concat([Buffer.from('RIFF\x24\0\0\0WAVEfmt ', 'latin1'), Buffer.alloc(28)]);
    file('beep.wav', wav);
    const { content } = await server.call('read_media_file', { path: 'beep.wav' });
    expect(content[1]).toEqual({ type: 'audio', data: wav.toString('base64'), mimeType: 'audio/wav' });
  });

  test('returns other files as a resource, and parts of a file that is too large', async () => {
    const bytes = Buffer.from([0, 1, 2, 3, 255]);
    const path = file('some.bin', bytes);
    const { content } = await server.call('read_media_file', { path: 'some.bin' });
    expect(content[1]).toEqual({
      type: 'resource',
      resource: {
        uri: `file://${path}`,
        mimeType: 'application/octet-stream',
        blob: bytes.toString('base64'),
      },
    });
    truncateSync(path, 7 * 1_024 ** 2);
    expect(await server.refusal('read_media_file', { path })).toContain('ranges');
    const range = await server.call('read_media_file', { path, offset: 3, length: 2 });
    expect(range.content[1]?.resource?.blob).toBe(Buffer.from([3, 255]).toString('base64'));
    const largest = await server.call('read_media_file', { path, offset: 10 });
    expect(Buffer.from(largest.content[1]?.resource?.blob ?? '', 'base64')).toHaveLength(6 * 1_024 ** 2);
  });

  test('returns a file with a wrong image extension by its real type', async () => {
    file('page.png', '<html></html>');
    const { content } = await server.call('read_media_file', { path: 'page.png' });
    expect(content[1]).toMatchObject({ type: 'resource', resource: { text: '<html></html>' } });
  });
});

describe('write_file', () => {
  test('creates and replaces a file, and keeps its permissions', async () => {
    const created = await server.call('write_file', { path: 'new.sh', content: 'grüße\r\n' });
    expect(created.structured).toEqual({ path: join(folder, 'new.sh'), bytes: 9, wasThere: false });
    chmodSync(join(folder, 'new.sh'), 0o750);
    const replaced = await server.call('write_file', { path: 'new.sh', content: '' });
    expect(replaced.structured).toMatchObject({ bytes: 0, wasThere: true });
    expect(onDisk('new.sh')).toBe('');
    expect(statSync(join(folder, 'new.sh')).mode & 0o777).toBe(0o750);
  });

  test('creates no folders, and names the missing folder', async () => {
    const refusal = await server.refusal('write_file', { path: 'no/such/folder.txt', content: 'x' });
    expect(refusal).toContain(`"${join(folder, 'no')}"`);
  });

  test('rejects content that is invalid in a text file or too long', async () => {
    file('kept.txt', 'kept');
    const half = { path: 'kept.txt', content: 'broken \ud83d' };
    expect(await server.refusal('write_file', half)).toContain('surrogate');
    const long = { path: 'kept.txt', content: 'x'.repeat(8 * 1_024 ** 2 + 1) };
    expect(await server.refusal('write_file', long)).toContain('8388608');
    expect(onDisk('kept.txt')).toBe('kept');
  });

  test('executes concurrent calls in the order of arrival', async () => {
    const contents = Array.from({ length: 20 }, (_, index) => String(index));
    await Promise.all(contents.map((content) => server.call('write_file', { path: 'order.txt', content })));
    expect(onDisk('order.txt')).toBe('19');
  });
});

describe('edit_file', () => {
  test('shows the diff of a dry run, then applies it, and keeps the line endings', async () => {
    file('edit.txt', 'one\r\ntwo\r\nthree\r\n');
    const edits = [{ oldText: 'one\ntwo', newText: '1\n2' }];
    const dry = await server.call('edit_file', { path: 'edit.txt', edits, dryRun: true });
    expect(onDisk('edit.txt')).toBe('one\r\ntwo\r\nthree\r\n');
    const done = await server.call('edit_file', { path: 'edit.txt', edits });
    expect(done.text).toBe(dry.text);
    expect(done.text).toBe(
      `--- ${folder}/edit.txt\n+++ ${folder}/edit.txt\n@@ -1,3 +1,3 @@\n-one\r\n-two\r\n+1\r\n+2\r\n three\r\n`,
    );
    expect(onDisk('edit.txt')).toBe('1\r\n2\r\nthree\r\n');
  });

  test.each([true, false])('makes all edits or none (dryRun %s)', async (dryRun) => {
    file('all.txt', 'a b b');
    const edits = [
      { oldText: 'a', newText: 'x' },
      { oldText: 'b', newText: 'y' },
    ];
    expect(await server.refusal('edit_file', { path: 'all.txt', edits, dryRun })).toContain(
      'edit 2 occurs 2 times',
    );
    edits.splice(1, 1, { oldText: 'zzz', newText: 'y' });
    expect(await server.refusal('edit_file', { path: 'all.txt', edits, dryRun })).toContain(
      'edit 2 was not found',
    );
    expect(onDisk('all.txt')).toBe('a b b');
  });

  test('applies all concurrent edits of one file', async () => {
    file('many.txt', Array.from({ length: 10 }, (_, index) => `<${index}>`).join(''));
    await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        server.call('edit_file', {
          path: 'many.txt',
          edits: [{ oldText: `<${index}>`, newText: `${index}` }],
        }),
      ),
    );
    expect(onDisk('many.txt')).toBe('0123456789');
  });

  test('keeps a byte order mark', async () => {
    file('mark.txt', '\uFEFFfirst');
    await server.call('edit_file', { path: 'mark.txt', edits: [{ oldText: 'first', newText: 'line' }] });
    expect(onDisk('mark.txt')).toBe('\uFEFFline');
  });

  test('rejects binary, too large and missing files, and an empty list of edits', async () => {
    file('bytes.bin', Buffer.from([0xff, 0xfe, 0xfd]));
    const large = file('large.txt');
    truncateSync(large, 5 * 1_024 ** 2);
    const edits = [{ oldText: 'a', newText: 'b' }];
    for (const dryRun of [true, false]) {
      expect(await server.refusal('edit_file', { path: 'bytes.bin', edits, dryRun })).toContain('not');
      expect(await server.refusal('edit_file', { path: 'large.txt', edits, dryRun })).toContain('4194304');
      expect(await server.refusal('edit_file', { path: 'gone.txt', edits, dryRun })).toContain('gone.txt');
    }
    expect(await server.refusal('edit_file', { path: 'all.txt', edits: [] })).toContain('edits');
    const empty = [{ oldText: '', newText: 'b' }];
    expect(await server.refusal('edit_file', { path: 'all.txt', edits: empty })).toContain('oldText');
  });
});

describe('create_directory and move_file', () => {
  test('create a folder with its parents, also if it exists', async () => {
    const path = join(folder, 'deep/er/est');
    expect((await server.call('create_directory', { path: 'deep/er/est' })).structured).toEqual({
      path,
      wasThere: false,
    });
    expect((await server.call('create_directory', { path })).structured).toEqual({ path, wasThere: true });
    expect(statSync(path).isDirectory()).toBe(true);
    expect(await server.refusal('create_directory', { path: '../outside' })).toContain('outside');
  });

  test('move files and folders, and never overwrite', async () => {
    file('from.txt', 'moved');
    file('taken.txt', 'kept');
    const move = { source: 'from.txt', destination: 'taken.txt' };
    expect(await server.refusal('move_file', move)).toContain('taken.txt');
    expect(onDisk('taken.txt')).toBe('kept');
    mkdirSync(join(folder, 'target'));
    const moved = await server.call('move_file', { source: 'from.txt', destination: 'target/to.txt' });
    expect(moved.structured).toEqual({
      source: join(folder, 'from.txt'),
      destination: join(folder, 'target/to.txt'),
    });
    await server.call('move_file', { source: 'target', destination: 'renamed' });
    expect(onDisk('renamed/to.txt')).toBe('moved');
    const out = { source: 'renamed/to.txt', destination: '../stolen.txt' };
    expect(await server.refusal('move_file', out)).toContain('outside');
    expect(await server.refusal('move_file', { source: '../secret.txt', destination: 'in.txt' })).toContain(
      'outside',
    );
  });
});

describe('get_file_info', () => {
  test('returns type, size, times and permissions', async () => {
    const path = file('info.md', '12345');
    chmodSync(path, 0o640);
    const { structured, text } = await server.call('get_file_info', { path: 'info.md' });
    const stats = statSync(path);
    const { created, modified, accessed, ...rest } = structured;
    expect(rest).toEqual({ path, type: 'file', size: 5, permissions: '640', mimeType: 'text/markdown' });
    const differences = [
      Date.parse(String(created)) - stats.birthtimeMs,
      Date.parse(String(modified)) - stats.mtimeMs,
      Date.parse(String(accessed)) - stats.atimeMs,
    ];
    for (const difference of differences) expect(Math.abs(difference)).toBeLessThan(2);
    expect(text).toContain('permissions: 640');
    expect((await server.call('get_file_info', { path: '.' })).structured).toMatchObject({
      type: 'directory',
    });
  });
});
