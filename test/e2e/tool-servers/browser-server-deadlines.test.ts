// What does not happen in time: elements that do not appear or cannot be used, pages without an answer, scripts without an
// end, calls that are cancelled. The time limit is short here, so that waiting for it is.

import { beforeAll, describe, expect, test } from 'vitest';
import { type PageServer, servePages } from '../../fixtures/tool-servers/browser-pages.ts';
import { BrowserClient } from '../../fixtures/tool-servers/browser-pages-client.ts';

const STEP_MS = 2_000;
/** Besides the time limit: for a page to show that it is still there, twice, and to be closed. */
const GRACE_MS = 18_000;

let pages: PageServer;
let browser: BrowserClient;

beforeAll(async () => {
  pages = await servePages({
    '/form': `<title>Form</title><button hidden>Hidden</button><input id="off" disabled>
      <input id="fixed" readonly value="fixed"><div style="position:relative;width:200px;height:40px">
      <button id="under">Under</button><div id="over" style="position:absolute;inset:0;background:#fff8">over</div></div>`,
    '/busy': `<title>Busy</title><button id="hang" onclick="while (true);">hang</button>`,
    '/silent': () => {},
    '/half': (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.write('<title>Half</title><p>first half</p>');
    },
    '/slow-picture': '<title>Slow</title><p>text</p><img src="/silent">',
  });
  browser = await BrowserClient.start(['--allow-private', '--timeout-seconds', String(STEP_MS / 1000)]);
});

const go = async (path: string) => {
  const result = await browser.call('browser_navigate', { url: `${pages.url}${path}` });
  expect(result.isError, result.text).toBe(false);
  return result;
};
const fails = async (tool: string, args: Record<string, unknown>) => {
  const started = performance.now();
  const { isError, text } = await browser.call(tool, args);
  expect(isError, text).toBe(true);
  expect(performance.now() - started).toBeLessThan(STEP_MS + GRACE_MS);
  return text;
};

describe('an element', () => {
  test('that cannot be used is an error that says what stands in the way', async () => {
    await go('/form');
    expect(await fails('browser_click', { selector: '#under' })).toMatch(/covered by <div id="over"/);
    expect(await fails('browser_click', { selector: '#off' })).toContain('disabled');
    expect(await fails('browser_click', { selector: 'button[hidden]' })).toContain('not visible');
    expect(await fails('browser_fill', { selector: '#fixed', value: 'x' })).toContain('read-only');
  });

  test('that does not appear is an error that says how to find one', async () => {
    await go('/form');
    expect(await fails('browser_click', { selector: '#absent' })).toContain('No element matches #absent');
    expect(await fails('browser_screenshot', { name: 'x', selector: '#absent' })).toContain(
      'No element matches',
    );
    expect(await fails('browser_click', { selector: 'ref=e9999' })).toContain('browser_snapshot');
  });
});

describe('a page', () => {
  test('without an answer, or without an end, is given up at the time limit, and the next one loads', async () => {
    expect(await fails('browser_navigate', { url: `${pages.url}/silent` })).toContain('longer than 2 s');
    expect(await fails('browser_navigate', { url: `${pages.url}/half` })).toContain('longer than 2 s');
    expect((await go('/form')).structured).toMatchObject({ title: 'Form', status: 200 });
  });

  test('whose text is there while a picture is not is loaded, and the answer says so', async () => {
    const { text, structured } = await go('/slow-picture');
    expect(structured).toMatchObject({ title: 'Slow', status: 200 });
    expect(text).toContain('still loading');
  });

  test('that hangs in a handler of its own is stopped, and lives on', async () => {
    await go('/busy');
    expect(await fails('browser_click', { selector: '#hang' })).toContain('was stopped');
    expect(await browser.evaluate('document.title')).toBe('Busy');
  });
});

describe('a script', () => {
  test('without an end is stopped at the time limit, and the page lives on', async () => {
    await go('/form');
    expect(await fails('browser_evaluate', { script: 'while (true);' })).toContain('the page is still open');
    expect(await browser.evaluate('document.title')).toBe('Form');
  });
});

describe('calls', () => {
  test('that are cancelled end at once, and the next one works', async () => {
    await go('/form');
    const cancelling = new AbortController();
    const asked = browser.call('browser_evaluate', { script: 'while (true);' }, cancelling.signal);
    setTimeout(() => cancelling.abort(), 300);
    await expect(asked).rejects.toThrow();
    expect(await browser.evaluate('document.title')).toBe('Form');
  });

  test('that come at once run one after the other, in their order', async () => {
    await browser.call('browser_navigate', { url: 'about:blank' });
    const results = await Promise.all([
      browser.call('browser_navigate', { url: `${pages.url}/form` }),
      browser.evaluate('document.title'),
      browser.call('browser_navigate', { url: `${pages.url}/busy` }),
      browser.evaluate('document.title'),
    ]);
    expect([results[1], results[3]]).toEqual(['Form', 'Busy']);
  });
});
