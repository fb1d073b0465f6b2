// Files as resources of the built filesystem server: lists and pages, templates, reading, subscriptions.

import {
  appendFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { errorOf, eventually } from '../../fixtures/clients/mcp-client.ts';
import { FilesystemClient, testFolder } from '../../fixtures/tool-servers/filesystem-server.ts';

const INVALID_PARAMS = -32602;
const NOT_FOUND = -32002;

let parent: string;
let first: string;
let second: string;
let server: FilesystemClient;

const uriOf = (...path: string[]) => pathToFileURL(join(...path)).href;

beforeAll(async () => {
  parent = testFolder();
  [first, second] = [join(parent, 'first'), join(parent, 'second')];
  mkdirSync(join(first, 'below'), { recursive: true });
  mkdirSync(second);
  writeFileSync(join(parent, 'secret.txt'), 'not for you');
  writeFileSync(join(first, 'a #1?.md'), '# ü');
  writeFileSync(join(first, 'pixel.bin'), Buffer.from([0, 1, 255]));
  writeFileSync(join(first, 'below/deep.json'), '{}');
  symlinkSync(join(parent, 'secret.txt'), join(first, 'trap'));
  for (let count = 0; count < 450; count++) writeFileSync(join(second, `n${count}.txt`), '');
  server = await FilesystemClient.start([first, second]);
});

describe('the list of resources', () => {
  test('contains the files directly in the allowed folders, page by page, without duplicates', async () => {
    const uris: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await server.client.listResources(cursor === undefined ? {} : { cursor });
      expect(page.resources.length).toBeLessThanOrEqual(200);
      uris.push(...page.resources.map(({ uri }) => uri));
      cursor = page.nextCursor;
      pages++;
    } while (cursor !== undefined);
    expect(pages).toBe(3);
    expect(uris.slice(0, 2)).toEqual([uriOf(first, 'a #1?.md'), uriOf(first, 'pixel.bin')]);
    expect(uris).toHaveLength(452);
    expect(new Set(uris).size).toBe(452);
  });

  test('contains name, type, size and time of each file', async () => {
    const { resources } = await server.client.listResources();
    expect(resources[0]).toMatchObject({ name: 'a #1?.md', mimeType: 'text/markdown', size: 4 });
    expect(resources[0]?.annotations?.lastModified).toMatch(/^\d{4}-/);
  });

  test('rejects an unknown cursor', async () => {
    for (const cursor of ['x', '', Buffer.from('[-1,""]').toString('base64url')])
      expect((await errorOf(server.client.listResources({ cursor }))).code).toBe(INVALID_PARAMS);
    const behind = Buffer.from('[99,""]').toString('base64url');
    expect(await server.client.listResources({ cursor: behind })).toEqual({ resources: [] });
  });

  test('announces changes, but not new content of a file', async () => {
    await server.client.listResources();
    const changed = 'notifications/resources/list_changed';
    const before = server.count(changed);
    writeFileSync(join(first, 'later.txt'), '');
    await eventually('the notification of the new file', () => server.count(changed) === before + 1);
    appendFileSync(join(first, 'later.txt'), 'more');
    writeFileSync(join(first, 'below/unlisted.txt'), '');
    rmSync(join(first, 'later.txt'));
    await eventually('the notification of the removal', () => server.count(changed) > before + 1);
    expect(server.count(changed)).toBe(before + 2);
  });
});

describe('the list of a folder', () => {
  test('contains files beside 10,000 subfolders, but no names that are not valid UTF-8', async () => {
    const crowded = testFolder();
    for (let count = 0; count <= 10_000; count++) mkdirSync(join(crowded, `d${count}`));
    writeFileSync(join(crowded, 'z.txt'), '');
    writeFileSync(Buffer.concat([Buffer.from(`${crowded}/x`), Buffer.from([0xff])]), '');
    const { client } = await FilesystemClient.start([crowded]);
    const { resources } = await client.listResources();
    expect(resources.map(({ name }) => name)).toEqual(['z.txt']);
  });

  test('that is cancelled causes no error in the log', async () => {
    const cancelled = new AbortController();
    const listing = Array.from({ length: 20 }, () =>
      server.client.listResources({}, { signal: cancelled.signal }).catch(() => {}),
    );
    cancelled.abort();
    await Promise.all(listing);
    await server.client.listResources();
    expect(server.stderr).toBe('');
  });
});

describe('a file resource', () => {
  test('has a template for all files', async () => {
    const { resourceTemplates } = await server.client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(['file:///{+path}']);
  });

  test('is read as text or as bytes, depending on the content', async () => {
    const read = async (uri: string) => (await server.client.readResource({ uri })).contents;
    const text = uriOf(first, 'a #1?.md');
    expect(await read(text)).toEqual([{ uri: text, mimeType: 'text/markdown', text: '# ü' }]);
    const bytes = uriOf(first, 'pixel.bin');
    expect(await read(bytes)).toEqual([{ uri: bytes, mimeType: 'application/octet-stream', blob: 'AAH/' }]);
    const deep = uriOf(first, 'below/deep.json');
    expect(await read(deep)).toEqual([{ uri: deep, mimeType: 'application/json', text: '{}' }]);
    expect(await read(deep.replace('file:///', 'file://localhost/'))).toMatchObject([{ text: '{}' }]);
  });

  test('that is missing, outside, a folder or too large is rejected with its URI and without its content', async () => {
    truncateSync(join(second, 'n1.txt'), 7 * 1_024 ** 2);
    writeFileSync(join(second, 'n2.txt'), 'x'.repeat(1_024 ** 2 + 1));
    const uris = [
      uriOf(first, 'missing'),
      uriOf(first, 'below'),
      uriOf(first, 'trap'),
      uriOf(parent, 'secret.txt'),
      `${uriOf(first)}/%2e%2e/secret.txt`,
      'file:///etc/passwd',
      uriOf(second, 'n1.txt'),
      uriOf(second, 'n2.txt'),
    ];
    for (const uri of uris) {
      const { code, message, data } = await errorOf(server.client.readResource({ uri }));
      expect(code, uri).toBe(NOT_FOUND);
      expect(data, uri).toEqual({ uri });
      expect(message, uri).not.toMatch(/not for you|root:/);
    }
    writeFileSync(join(second, 'n1.txt'), '');
  });

  test('with an ambiguous URI is rejected', async () => {
    const uris = [
      'garbage',
      `file://elsewhere${first}/pixel.bin`,
      `${uriOf(first)}%2fpixel.bin`,
      `${uriOf(first, 'pixel.bin')}%00`,
      `${uriOf(first, 'pixel.bin')}#part`,
    ];
    for (const uri of uris)
      expect((await errorOf(server.client.readResource({ uri }))).code, uri).toBe(INVALID_PARAMS);
  });
});

describe('a subscription to a file', () => {
  test('reports writes, atomic replacements and removal, until it is ended', async () => {
    const path = join(first, 'watched.txt');
    const uri = uriOf(path);
    writeFileSync(path, '1');
    await server.client.subscribeResource({ uri });
    await server.client.subscribeResource({ uri });
    appendFileSync(path, '2');
    await eventually('the write', () => server.updates(uri) === 1);
    await server.call('write_file', { path, content: 'replaced' });
    await eventually('the replacement', () => server.updates(uri) === 2);
    rmSync(path);
    await eventually('the removal', () => server.updates(uri) === 3);
    writeFileSync(path, 'back');
    await eventually('the return', () => server.updates(uri) === 4);
    await server.client.unsubscribeResource({ uri });
    const other = uriOf(first, 'pixel.bin');
    await server.client.subscribeResource({ uri: other });
    appendFileSync(path, 'unheard');
    appendFileSync(join(first, 'pixel.bin'), '!');
    await eventually('the other file', () => server.updates(other) === 1);
    expect(server.updates(uri)).toBe(4);
  });

  test('reports once that a file became a link to the outside, and no changes of the link target', async () => {
    const path = join(first, 'swapped.txt');
    const uri = uriOf(path);
    writeFileSync(path, 'inside');
    await server.client.subscribeResource({ uri });
    symlinkSync(join(parent, 'secret.txt'), join(first, 'link'));
    renameSync(join(first, 'link'), path);
    await eventually('the swap', () => server.updates(uri) === 1);
    appendFileSync(join(parent, 'secret.txt'), '!');
    const other = uriOf(second, 'n3.txt');
    await server.client.subscribeResource({ uri: other });
    appendFileSync(join(second, 'n3.txt'), '!');
    await eventually('another file', () => server.updates(other) === 1);
    expect(server.updates(uri)).toBe(1);
  });

  test('is rejected for a missing path, a path outside or a folder', async () => {
    for (const uri of [uriOf(first, 'missing'), uriOf(first, 'below'), uriOf(parent, 'secret.txt')])
      expect((await errorOf(server.client.subscribeResource({ uri }))).code, uri).toBe(NOT_FOUND);
    expect((await errorOf(server.client.subscribeResource({ uri: 'garbage' }))).code).toBe(INVALID_PARAMS);
  });

  test('that is ended during its setup is not created', async () => {
    const path = join(first, 'short.txt');
    const uri = uriOf(path);
    writeFileSync(path, '1');
    const subscribing = server.client.subscribeResource({ uri });
    const unsubscribing = server.client.unsubscribeResource({ uri });
    await Promise.all([subscribing, unsubscribing]);
    const other = uriOf(first, 'pixel.bin');
    await server.client.subscribeResource({ uri: other });
    const before = server.updates(other);
    appendFileSync(path, '2');
    appendFileSync(join(first, 'pixel.bin'), '!');
    await eventually('the other file', () => server.updates(other) > before);
    expect(server.updates(uri)).toBe(0);
  });

  test('reports a change that keeps size and time', async () => {
    const path = join(first, 'same.txt');
    const uri = uriOf(path);
    const replace = (content: string) => {
      writeFileSync(path, content);
      utimesSync(path, 1e9, 1e9);
    };
    replace('one');
    await server.client.subscribeResource({ uri });
    replace('two');
    await eventually('the change', () => server.updates(uri) > 0);
  });

  test('is limited to two hundred', async () => {
    let subscribeError: Error | undefined;
    for (let count = 4; count < 250 && subscribeError === undefined; count++) {
      const subscribed = server.client.subscribeResource({ uri: uriOf(second, `n${count}.txt`) });
      subscribeError = await subscribed.then(
        () => undefined,
        (error) => error,
      );
    }
    expect(subscribeError?.message).toContain('200 subscriptions');
    const uri = uriOf(second, 'n4.txt');
    await server.client.unsubscribeResource({ uri });
    await server.client.subscribeResource({ uri });
  });
});
