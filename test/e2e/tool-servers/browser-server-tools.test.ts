// All tools and resources of the built browser server, with the client of the public SDK, and real Chromium
// on local pages. One server and one browser for the whole file. Every test starts with a navigation.

import { beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../fixtures/clients/mcp-client.ts';
import { servePages } from '../../fixtures/tool-servers/browser-pages.ts';
import { BrowserClient } from '../../fixtures/tool-servers/browser-pages-client.ts';
import { readPng } from '../../fixtures/tool-servers/browser-pages-png.ts';

const form = `<!doctype html><title>Form</title><h1>A form</h1>
<button class="many" hidden>Hidden</button><button class="many" id="first">First</button><button class="many">Second</button>
<input id="text" value="old"><input id="date" type="date"><input id="box" type="checkbox"><input id="file" type="file">
<div id="editable" contenteditable>edit me</div>
<select id="list"><option value="a">Apple</option><option value="b">Banana</option><option value="c" disabled>Cherry</option></select>
<div id="host"></div><div id="log"></div>
<script>
  const log = (text) => { document.querySelector('#log').textContent += text + ';'; };
  document.querySelector('#first').onclick = (event) => log('clicked ' + event.isTrusted);
  document.querySelector('#first').onmouseenter = () => log('hovered');
  document.querySelector('#text').oninput = (event) => log('input ' + event.target.value);
  document.querySelector('#list').onchange = (event) => log('list ' + event.target.value);
  document.querySelector('#host').attachShadow({ mode: 'open' }).innerHTML = '<button id="inside">Inside</button>';
  document.querySelector('#host').shadowRoot.querySelector('button').onclick = () => log('inside');
</script>`;

const actions = `<title>Actions</title>
<button id="alert" onclick="alert('one'); if (confirm('two')) document.title = 'confirmed'; prompt('three')">dialogs</button>
<button id="go" onclick="location.href = '/next?by=click'">go</button>
<button id="later" onclick="setTimeout(() => { document.body.append('It is here now'); }, 300)">later</button>
<a id="popup" href="/next?by=popup" target="_blank">popup</a><a id="download" href="/download">download</a>
<button id="pick" onclick="document.querySelector('#file').click()">pick</button><input id="file" type="file" hidden>
<button id="leave" onclick="onbeforeunload = (event) => event.preventDefault()">ask before leaving</button>
<button id="noise" onclick="console.warn('careful'); console.error('broken'); setTimeout(() => { throw new Error('uncaught') })">noise</button>`;

let pages: { url: string; requests: string[] };
let browser: BrowserClient;

beforeAll(async () => {
  pages = await servePages({
    '/form': form,
    '/actions': actions,
    '/next': '<title>Next</title><h1>Next page</h1>',
    '/colours': `<title>Colours</title><style>body{margin:0;background:rgb(10,20,30)}#a{position:absolute;left:100px;top:50px;
      width:60px;height:40px;background:rgb(200,100,50)}#tall{position:absolute;top:900px;width:50px;height:3000px;
      background:linear-gradient(rgb(0,0,255) 50%,rgb(0,255,0) 50%)}#huge{position:absolute;top:5000px;width:9000px;height:9000px}
      #none{width:0;height:0}#ribbon{position:absolute;top:0;left:2000px;width:1.4px;height:10000000px}</style><div id="a"></div><div id="tall"></div><div id="huge"></div><div id="none"></div>
      <div id="ribbon"></div>`,
    '/noise': `<title>Noise</title><style>body{margin:0}</style><canvas width=2000 height=2000></canvas><script>
      const context = document.querySelector('canvas').getContext('2d'); const image = context.createImageData(2000, 2000);
for (let at = 0; at < image.data.length; at++) image.data[at] = at % 4 === 3 ? 255 : Math.random() * 256;
      context.putImageData(image, 0, 0);</script>`,
    '/frames': '<title>Frames</title><h1>Outer</h1><iframe src="/form"></iframe>',
    '/long': `<title>Long</title>${Array.from({ length: 3000 }, (_, n) => `<p>Paragraph number ${n}</p>`).join('')}`,
    '/missing': (_asked, response) =>
      response.writeHead(404, { 'content-type': 'text/html' }).end('<title>Gone</title>Not here'),
    '/download': (_asked, response) =>
      response
        .writeHead(200, {
          'content-disposition': 'attachment; filename="thing.bin"',
          'content-type': 'application/zip',
        })
        .end('PK'),
    '/empty': (_asked, response) => response.writeHead(204).end(),
    '/private': ({ headers }, response) =>
      headers.authorization === `Basic ${Buffer.from('me:secret').toString('base64')}`
        ? response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Let in</title>')
        : response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end(),
    '/hostile': `<title>Hostile</title><button id="trap">Trap</button><script>
      const long = (...given) => 'y'.repeat(20_000_000);
      String.prototype.slice = long; String.prototype.trim = long; String.prototype.replace = long;
      String.prototype.toString = long; globalThis.String = long; JSON.stringify = long;</script>`,
    '/loop': (_asked, response) => response.writeHead(302, { location: '/loop' }).end(),
    '/worker.js': (_asked, response) =>
      response.writeHead(200, { 'content-type': 'text/javascript' }).end('onfetch = () => {};'),
    '/script-redirect': '<title>Redirect</title><script>location.replace("/next?by=script")</script>',
  });
  browser = await BrowserClient.start(['--allow-private', '--timeout-seconds', '30']);
});

const navigate = async (path: string) => {
  const result = await browser.call('browser_navigate', { url: `${pages.url}${path}` });
  expect(result.isError, result.text).toBe(false);
  return result;
};
const errorTextOf = async (tool: string, args: Record<string, unknown>) => {
  const { isError, text } = await browser.call(tool, args);
  expect(isError, text).toBe(true);
  return text;
};
const works = async (tool: string, args: Record<string, unknown>) => {
  const result = await browser.call(tool, args);
  expect(result.isError, result.text).toBe(false);
  return result;
};
const logOfPage = () => browser.evaluate('document.querySelector("#log").textContent');

describe('the browser server', () => {
  test('has nine tools, all with title, description, strict input, output and all four hints', async () => {
    const { tools } = await browser.client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual([
      'browser_click',
      'browser_evaluate',
      'browser_fill',
      'browser_hover',
      'browser_navigate',
      'browser_screenshot',
      'browser_select',
      'browser_snapshot',
      'browser_wait_for',
    ]);
    for (const { name, title, description, inputSchema, outputSchema, annotations } of tools) {
      expect(title, name).toBeTruthy();
      expect(description?.length, name).toBeGreaterThan(100);
      expect(inputSchema.additionalProperties, name).toBe(false);
      expect(outputSchema, name).toBeDefined();
      const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];
      for (const hint of hints) expect(annotations, name).toHaveProperty(hint);
    }
    const parameters = Object.fromEntries(
      tools.map(({ name, inputSchema }) => [
        name,
        [Object.keys(inputSchema.properties ?? {}), inputSchema.required ?? []],
      ]),
    );
    expect(parameters).toMatchObject({
      browser_navigate: [['url'], ['url']],
      browser_screenshot: [['name', 'selector', 'width', 'height'], ['name']],
      browser_click: [['selector'], ['selector']],
      browser_fill: [
        ['selector', 'value'],
        ['selector', 'value'],
      ],
      browser_select: [
        ['selector', 'value'],
        ['selector', 'value'],
      ],
      browser_hover: [['selector'], ['selector']],
      browser_evaluate: [['script'], ['script']],
    });
  });

  test('rejects unknown arguments', async () => {
    expect(await errorTextOf('browser_click', { selector: '#a', force: true })).toContain('force');
    expect(await errorTextOf('browser_navigate', {})).toContain('url');
  });
});

describe('browser_navigate', () => {
  test('returns address, title and status of the page', async () => {
    const { text, structured } = await navigate('/form');
    expect(structured).toMatchObject({
      url: `${pages.url}/form`,
      title: 'Form',
      status: 200,
      navigated: true,
    });
    expect(text).toContain('"Form" (HTTP 200)');
  });

  test('loads pages with an error status like any other page', async () => {
    expect((await navigate('/missing')).structured).toMatchObject({ title: 'Gone', status: 404 });
  });

  test('follows a redirect in the script of the page', async () => {
    await navigate('/script-redirect');
    const { structured } = await works('browser_wait_for', { text: 'next page' });
    expect(structured).toMatchObject({ url: `${pages.url}/next?by=script`, title: 'Next' });
  });

  test('reports that a download is no page and was not saved', async () => {
    const text = await errorTextOf('browser_navigate', { url: `${pages.url}/download` });
    expect(text).toContain('thing.bin');
    expect(text).toContain('nothing was saved');
    await navigate('/next');
  });

  test.each([
    ['file:///etc/passwd', 'file: addresses are not supported'],
    ['data:text/html,<p>hi', 'data: addresses'],
    ['javascript:alert(1)', 'javascript: addresses'],
    ['view-source:http://example.com/', 'view-source: addresses'],
    ['chrome://version', 'chrome: addresses'],
    ['ftp://example.com/', 'ftp: addresses'],
    ['example.com', 'not a complete address'],
    ['http://', 'not a complete address'],
    ['http://127.0.0.1:22/', 'port'],
    ['https://no-such-name.invalid/', 'the host name has no address'],
    ['http://no-such-name.invalid/', 'the host name has no address'],
  ])('rejects %s with the reason', async (url, reason) => {
    expect(await errorTextOf('browser_navigate', { url })).toContain(reason);
  });

  test('explains why an endless page, an empty page or a page with no TLS was not loaded', async () => {
    expect(await errorTextOf('browser_navigate', { url: `${pages.url}/loop` })).toContain(
      'redirects endlessly',
    );
    expect(await errorTextOf('browser_navigate', { url: `${pages.url}/empty` })).toContain('204');
    expect(
      await errorTextOf('browser_navigate', { url: `https://${pages.url.slice('http://'.length)}/` }),
    ).toContain('TLS');
    await navigate('/next');
  });

  test('reports that a page requires a password, and opens it if the address contains the password', async () => {
    const url = `${pages.url}/private`;
    expect(await errorTextOf('browser_navigate', { url })).toContain('user name and password');
    const { structured } = await works('browser_navigate', { url: url.replace('://', '://me:secret@') });
    expect(structured).toMatchObject({ title: 'Let in', status: 200 });
  });

  test('opens about:blank, which clears the page', async () => {
    const { structured } = await works('browser_navigate', { url: 'about:blank' });
    expect(structured).toMatchObject({ url: 'about:blank', title: '' });
    expect(structured.status).toBeUndefined();
  });
});

describe('browser_screenshot', () => {
  const shotOf = async (args: Record<string, unknown>) => {
    const { content, structured } = await works('browser_screenshot', args);
    const [, image] = content;
    if (image?.type !== 'image') throw new Error('no image');
    return { file: Buffer.from(image.data, 'base64'), mimeType: image.mimeType, structured };
  };

  test('shows the page: its size, and its colours at their positions', async () => {
    await navigate('/colours');
    const { file, structured } = await shotOf({ name: 'colours', width: 500, height: 300 });
    const picture = readPng(file);
    expect([picture.width, picture.height]).toEqual([500, 300]);
    expect(picture.pixel(5, 5)).toEqual([10, 20, 30]);
    expect(picture.pixel(130, 70)).toEqual([200, 100, 50]);
    expect(picture.pixel(99, 70)).toEqual([10, 20, 30]);
    expect(picture.pixel(160, 70)).toEqual([10, 20, 30]);
    expect(structured).toMatchObject({
      uri: 'screenshot://colours',
      width: 500,
      height: 300,
      bytes: file.length,
      mimeType: 'image/png',
    });
    expect(await browser.evaluate('[innerWidth, innerHeight]')).toEqual([500, 300]);
  });

  test('of an element shows only the element, even if it is larger than the viewport', async () => {
    await navigate('/colours');
    const small = readPng((await shotOf({ name: 'small', selector: '#a' })).file);
    expect([small.width, small.height]).toEqual([60, 40]);
    expect(small.pixel(0, 0)).toEqual([200, 100, 50]);
    expect(small.pixel(59, 39)).toEqual([200, 100, 50]);
    const tall = readPng((await shotOf({ name: 'tall', selector: '#tall' })).file);
    expect([tall.width, tall.height]).toEqual([50, 3000]);
    expect(tall.pixel(25, 10)).toEqual([0, 0, 255]);
    expect(tall.pixel(25, 2990)).toEqual([0, 255, 0]);
  });

  test('is a JPEG if a PNG would be too large', async () => {
    await navigate('/noise');
    const { file, mimeType, structured } = await shotOf({ name: 'noise', width: 1600, height: 1600 });
    expect(mimeType).toBe('image/jpeg');
    expect(file.subarray(0, 2).toString('hex')).toBe('ffd8');
    expect(file.length).toBeLessThan(4 * 1024 * 1024);
    expect(structured).toMatchObject({ width: 1600, height: 1600 });
    await shotOf({ name: 'again', width: 1280, height: 800 });
  });

  test('rejects elements that are too large or have no size', async () => {
    await navigate('/colours');
    expect(await errorTextOf('browser_screenshot', { name: 'x', selector: '#huge' })).toContain(
      '9000 by 9000',
    );
    expect(await errorTextOf('browser_screenshot', { name: 'x', selector: '#ribbon' })).toContain(
      '16384 per side',
    );
    expect(await errorTextOf('browser_screenshot', { name: 'x', selector: '#none' })).toContain('no size');
    expect(await errorTextOf('browser_screenshot', { name: 'x', selector: '#absent' })).toContain(
      'No element matches',
    );
    expect(await errorTextOf('browser_screenshot', { name: 'x', width: 100_000 })).toContain('4096');
  });
});

describe('the resources of the browser server', () => {
  test('are the console and all screenshots, with their original content', async () => {
    await navigate('/colours');
    await works('browser_screenshot', { name: 'two words/ü%', width: 320, height: 200 });
    const { resources } = await browser.client.listResources();
    expect(resources[0]).toMatchObject({ uri: 'console://logs', mimeType: 'text/plain' });
    const uri = 'screenshot://two%20words%2F%C3%BC%25';
    expect(resources.find((each) => each.uri === uri)).toMatchObject({
      mimeType: 'image/png',
      name: 'two words/ü%',
    });
    for (const written of [uri, 'screenshot://two words/ü%']) {
      const [content] = (await browser.client.readResource({ uri: written })).contents;
      const picture = readPng(Buffer.from(String((content as { blob: string }).blob), 'base64'));
      expect([picture.width, picture.height]).toEqual([320, 200]);
    }
    const { resourceTemplates } = await browser.client.listResourceTemplates();
    expect(resourceTemplates).toMatchObject([{ uriTemplate: 'screenshot://{name}' }]);
    for (const absent of ['screenshot://absent', 'screenshot://%', 'console://other', 'file:///etc/passwd'])
      await expect(browser.client.readResource({ uri: absent })).rejects.toMatchObject({ code: -32002 });
    await works('browser_screenshot', { name: 'back', width: 1280, height: 800 });
  });

  test('announce new screenshots to all clients, and changes only to subscribers', async () => {
    const updates = () =>
      browser.notes
        .filter(({ method }) => method === 'notifications/resources/updated')
        .map(({ params }) => params?.uri);
    const lists = () =>
      browser.notes.filter(({ method }) => method === 'notifications/resources/list_changed').length;
    await navigate('/actions');
    const before = lists();
    await works('browser_screenshot', { name: 'fresh' });
    await eventually('a changed list', () => lists() > before);
    await works('browser_click', { selector: '#noise' });
    await works('browser_screenshot', { name: 'fresh' });
    expect(updates()).toEqual([]);
    await browser.client.subscribeResource({ uri: 'console://logs' });
    await browser.client.subscribeResource({ uri: 'screenshot://fresh' });
    await works('browser_click', { selector: '#noise' });
    await works('browser_screenshot', { name: 'fresh' });
    await eventually('both updates', () => updates().length >= 2);
    expect(updates().sort()).toEqual(['console://logs', 'screenshot://fresh']);
    await browser.client.unsubscribeResource({ uri: 'console://logs' });
    await expect(browser.client.subscribeResource({ uri: 'screenshot://absent' })).rejects.toThrow(
      'Unknown resource',
    );
  });

  test('include the console with level, text and position, including uncaught errors', async () => {
    await navigate('/actions');
    const { structured, text } = await works('browser_click', { selector: '#noise' });
    expect(structured.console_errors).toBe(2);
    expect(text).toContain('2 errors');
    const [content] = (await browser.client.readResource({ uri: 'console://logs' })).contents;
    const consoleText = String((content as { text: string }).text);
    expect(consoleText).toMatch(/Z warning: careful \(http:\/\/127\.0\.0\.1:\d+\/actions:\d+:\d+\)/);
    expect(consoleText).toContain('error: broken');
    expect(consoleText).toContain('error: Uncaught Error: uncaught');
  });

  test('keep the newest thousand lines of a page that floods the console', async () => {
    await navigate('/next');
    const { text } = await works('browser_evaluate', {
      script: 'for (let n = 0; n < 3000; n++) console.log("line " + n); console.log("x".repeat(100000)); 1',
    });
    expect(text.length).toBeLessThan(20_000);
    const lastLine = await eventually('the last line', async () => {
      const [content] = (await browser.client.readResource({ uri: 'console://logs' })).contents;
      const all = String((content as { text: string }).text);
      return all.includes('98000 more characters') && all;
    });
    expect(lastLine.split('\n').length).toBe(1001);
    expect(lastLine).toContain('earlier entries were dropped');
    expect(lastLine).toContain('line 2999');
    expect(lastLine).not.toContain('line 1999');
  });
});

describe('browser_click and browser_hover', () => {
  test('move the pointer over the first visible match, and return the number of matches', async () => {
    await navigate('/form');
    const { text } = await works('browser_click', { selector: '.many' });
    expect(text).toContain('Clicked <button#first> "First" (the first of 3 matches)');
    expect(await logOfPage()).toBe('hovered;clicked true;');
    await works('browser_hover', { selector: '#text' });
    await works('browser_hover', { selector: '#first' });
    expect(await logOfPage()).toBe('hovered;clicked true;hovered;');
  });

  test('find elements in open shadow roots', async () => {
    await navigate('/form');
    await works('browser_click', { selector: '#inside' });
    expect(await logOfPage()).toBe('inside;');
  });

  test('accept only CSS selectors and element references', async () => {
    await navigate('/form');
    for (const selector of [
      '::::',
      'button[',
      '#1',
      'text=First',
      'xpath=//button',
      '//button',
      '#first >> xpath=..',
    ])
      expect(await errorTextOf('browser_click', { selector }), selector).toMatch(/CSS/);
    await works('browser_click', { selector: 'button:not([title=">>"])#first' });
  });

  test('wait for the page opened by a click', async () => {
    await navigate('/actions');
    const { structured } = await works('browser_click', { selector: '#go' });
    expect(structured).toMatchObject({
      url: `${pages.url}/next?by=click`,
      title: 'Next',
      status: 200,
      navigated: true,
    });
  });

  test('dismiss dialogs and report them', async () => {
    await navigate('/actions');
    const { structured } = await works('browser_click', { selector: '#alert' });
    expect(structured).toMatchObject({
      dialogs: ['alert: one', 'confirm: two', 'prompt: three'],
      title: 'Actions',
    });
    await works('browser_click', { selector: '#leave' });
    expect((await navigate('/next')).structured).toMatchObject({ title: 'Next', dialogs: [] });
  });

  test('report that downloads and file choosers are not supported', async () => {
    await navigate('/actions');
    const { structured } = await works('browser_click', { selector: '#download' });
    expect(structured.downloads).toEqual([`thing.bin from ${pages.url}/download`]);
    const { text } = await works('browser_click', { selector: '#pick' });
    expect(text).toContain('Uploads are not supported');
  });

  test('continue in a page that opens, and go back when it closes', async () => {
    await navigate('/actions');
    const { structured, text } = await works('browser_click', { selector: '#popup' });
    expect(structured).toMatchObject({ url: `${pages.url}/next?by=popup`, title: 'Next' });
    expect(text).toContain('opened a new page');
    const closed = await works('browser_evaluate', { script: 'window.close()' });
    expect(closed.structured).toMatchObject({ url: `${pages.url}/actions`, title: 'Actions' });
  });

  test('keep at most four pages open', async () => {
    await navigate('/actions');
    const { text } = await works('browser_evaluate', {
      script: 'for (let n = 0; n < 8; n++) document.querySelector("#popup").click(); 1',
    });
    expect(text).toContain('opened a new page');
    await works('browser_wait_for', { seconds: 0.5 });
    for (let page = 0; page < 3; page++) await works('browser_evaluate', { script: 'window.close()' });
    expect((await works('browser_wait_for', { seconds: 0.2 })).structured.url).toBe(`${pages.url}/actions`);
  });
});

describe('browser_fill and browser_select', () => {
  test('replace the content of a field, with the events that a page expects', async () => {
    await navigate('/form');
    await works('browser_fill', { selector: '#text', value: 'new ü' });
    await works('browser_fill', { selector: '#date', value: '2026-12-31' });
    await works('browser_fill', { selector: '#editable', value: 'edited' });
    expect(
      await browser.evaluate('["#text", "#date"].map((each) => document.querySelector(each).value)'),
    ).toEqual(['new ü', '2026-12-31']);
    expect(await browser.evaluate('document.querySelector("#editable").textContent')).toBe('edited');
    expect(await logOfPage()).toBe('input new ü;');
    await works('browser_fill', { selector: '#text', value: '' });
    expect(await browser.evaluate('document.querySelector("#text").value')).toBe('');
  });

  test('reject an unsuitable element with the name of the right tool', async () => {
    await navigate('/form');
    expect(await errorTextOf('browser_fill', { selector: '#box', value: 'x' })).toContain('browser_click');
    expect(await errorTextOf('browser_fill', { selector: '#list', value: 'a' })).toContain('browser_select');
    expect(await errorTextOf('browser_fill', { selector: '#file', value: '/etc/passwd' })).toContain(
      'Uploads are not',
    );
    expect(await errorTextOf('browser_fill', { selector: 'h1', value: 'x' })).toContain('is not a field');
    expect(await errorTextOf('browser_fill', { selector: '#date', value: 'tomorrow' })).toContain(
      'type date',
    );
  });

  test('choose by value, and list the values if it does not exist', async () => {
    await navigate('/form');
    await works('browser_select', { selector: '#list', value: 'b' });
    expect(await logOfPage()).toBe('list b;');
    expect(await errorTextOf('browser_select', { selector: '#list', value: 'Banana' })).toContain(
      '"a" (Apple), "b" (Banana)',
    );
    expect(await errorTextOf('browser_select', { selector: '#list', value: 'c' })).toContain('disabled');
    expect(await errorTextOf('browser_select', { selector: '#text', value: 'a' })).toContain(
      'not a <select>',
    );
  });
});

describe('browser_snapshot and browser_wait_for', () => {
  test('return references for the other tools, also in frames', async () => {
    await navigate('/frames');
    const { structured } = await works('browser_snapshot', {});
    const snapshot = String(structured.snapshot);
    expect(snapshot).toContain('heading "Outer"');
    const ref = /button "First" \[ref=(\w+)\]/.exec(snapshot)?.[1];
    expect(ref).toMatch(/^f\d+e\d+$/);
    await works('browser_click', { selector: `ref=${ref}` });
    expect(await browser.evaluate('frames[0].document.querySelector("#log").textContent')).toContain(
      'clicked true',
    );
  });

  test('truncate a long page at a line, with a hint how to get less', async () => {
    await navigate('/long');
    const { structured, text } = await works('browser_snapshot', {});
    expect(structured.is_cut).toBe(true);
    expect(String(structured.snapshot).length).toBeLessThanOrEqual(50_000);
    expect(text).toContain('pass a selector or a depth');
    const part = await works('browser_snapshot', { selector: 'p:nth-of-type(2)' });
    expect(part.structured).toMatchObject({ is_cut: false });
    expect(part.structured.snapshot).toContain('Paragraph number 1');
  });

  test('wait until a text or an element appears or disappears, or for some time', async () => {
    await navigate('/actions');
    await works('browser_click', { selector: '#later' });
    await works('browser_wait_for', { text: 'it is HERE' });
    await works('browser_wait_for', { selector: '#go' });
    await works('browser_wait_for', { selector: '#absent', gone: true });
    const { structured } = await works('browser_wait_for', { seconds: 0.2 });
    expect(structured.waited_ms).toBeGreaterThanOrEqual(200);
    expect((await works('browser_wait_for', { time: 0.1 })).structured.waited_ms).toBeGreaterThanOrEqual(100);
    expect(await errorTextOf('browser_wait_for', { time: 1, seconds: 1 })).toContain('time');
    expect(await errorTextOf('browser_wait_for', { text: 'never there', seconds: 0.2 })).toContain(
      'did not appear',
    );
    expect(await errorTextOf('browser_wait_for', { selector: '#go', gone: true, seconds: 0.2 })).toContain(
      'still on the page',
    );
    expect(await errorTextOf('browser_wait_for', { seconds: 60 })).toContain('--timeout-seconds');
    expect(await errorTextOf('browser_wait_for', {})).toContain('Pass a selector');
    expect(await errorTextOf('browser_wait_for', { selector: 'a', text: 'b' })).toContain('not both');
  });
});

describe('browser_evaluate', () => {
  beforeAll(async () => {
    await navigate('/form');
  });

  test.each<[string, unknown]>([
    ['document.title', 'Form'],
    ['document.title;', 'Form'],
    ['return document.title', 'Form'],
    ['const title = document.title;\nreturn title;', 'Form'],
    ['let n = 20; n += 1; n * 2', 42],
    ['const twice = 1; twice', 1],
    ['const twice = 2; twice', 2],
    ['({ a: 1, b: [true, null] })', { a: 1, b: [true, null] }],
    ['{ a: 1 }', { a: 1 }],
    ['() => location.pathname', '/form'],
    ['async () => 5', 5],
    ['function () { return 6 }', 6],
    ['await Promise.resolve(7)', 7],
    ['const r = await fetch("/next"); return r.status', 200],
    ['Promise.resolve(8)', 8],
    ['// a comment\n9 // and another', 9],
    ['document.querySelector("h1")', '<h1>A form</h1>'],
    ['document.querySelectorAll("h1")', ['<h1>A form</h1>']],
    ['const o = { n: 1 }; o.self = o; o', { n: 1, self: '[circular]' }],
    [
      '[1n, NaN, Infinity, Symbol("s"), function f() {}, new Map([[1, 2]]), new Set([3]), new Error("no")]',
      ['1n', 'NaN', 'Infinity', 'Symbol(s)', '[function f]', [[1, 2]], [3], { name: 'Error', message: 'no' }],
    ],
    ['window', '[window]'],
    ['new Date(0)', '1970-01-01T00:00:00.000Z'],
    ['null', null],
    ['undefined', undefined],
    ['if (false) 1', undefined],
  ])('returns %s as %j', async (script, value) => {
    expect(await browser.evaluate(script)).toEqual(value);
  });

  test('returns the error of a script', async () => {
    await navigate('/form');
    expect(await errorTextOf('browser_evaluate', { script: 'throw new TypeError("bad")' })).toBe(
      'The script failed: TypeError: bad',
    );
    expect(await errorTextOf('browser_evaluate', { script: 'nothing.here' })).toContain(
      'nothing is not defined',
    );
    expect(await errorTextOf('browser_evaluate', { script: '1 +' })).toContain('SyntaxError');
    expect(await errorTextOf('browser_evaluate', { script: 'JSON.parse("{")' })).toContain('SyntaxError');
    expect(await errorTextOf('browser_evaluate', { script: 'throw 5' })).toBe('The script failed: 5');
  });

  test('truncates a long result, and adds console output of the script', async () => {
    await navigate('/form');
    const { structured, text } = await works('browser_evaluate', {
      script: 'console.log("from the script", { a: 1 }); "x".repeat(200000)',
    });
    expect(String(structured.result).length).toBeLessThan(50_100);
    expect(String(structured.result)).toContain('truncated at 50000 characters');
    expect(structured.console).toMatchObject([expect.stringContaining('log: from the script {a: 1}')]);
    expect(text).toContain('from the script');
  });

  test('returns short answers on a page that replaces built-in functions, as do clicks', async () => {
    await navigate('/hostile');
    for (const script of ['"text"', '({ a: 1 })', 'const kept = 1; kept'])
      expect((await works('browser_evaluate', { script })).text.length, script).toBeLessThan(51_000);
    expect((await works('browser_click', { selector: '#trap' })).text.length).toBeLessThan(2_000);
  });

  test('runs in the page, without access to the server', async () => {
    await navigate('/form');
    expect(await browser.evaluate('[typeof process, typeof require, typeof Deno]')).toEqual([
      'undefined',
      'undefined',
      'undefined',
    ]);
  });

  test('works on pages whose policy forbids eval, and reports a navigation by the script', async () => {
    await navigate('/form');
    const { structured } = await works('browser_evaluate', {
      script: 'location.href = "/next"; await new Promise(() => {})',
    });
    expect(structured).toMatchObject({ title: 'Next', navigated: true });
    expect(structured.result).toContain('the page navigated');
  });
});

describe('pages in the browser', () => {
  test.each(['file:///etc/passwd', 'chrome://version', 'view-source:http://127.0.0.1/', 'data:text/html,x'])(
    'cannot open %s, neither in the same page nor in a new one',
    async (address) => {
      await navigate('/next');
      await works('browser_evaluate', { script: `location.href = ${JSON.stringify(address)}; 1` });
      const { structured } = await works('browser_evaluate', {
        script: `window.open(${JSON.stringify(address)}); 1`,
      });
      expect(String(structured.url)).toMatch(/^(http:\/\/127|about:blank)/);
    },
  );

  test('cannot get permissions such as geolocation, or register service workers', async () => {
    await navigate('/next');
    for (const name of ['geolocation', 'camera', 'clipboard-read'])
      expect(
        await browser.evaluate(`(await navigator.permissions.query({ name: "${name}" })).state`),
        name,
      ).toBe('denied');
    const workers = `await navigator.serviceWorker.register('/worker.js').catch(() => 0);
      return (await navigator.serviceWorker.getRegistrations()).length`;
    expect(await browser.evaluate(workers)).toBe(0);
  });
});
