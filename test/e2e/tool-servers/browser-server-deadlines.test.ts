// Timeouts of the browser server: missing or unusable elements, pages that do not respond, endless scripts,
// and cancelled calls. The time limit is short here.

import { beforeAll, describe, expect, test } from 'vitest';
import { type PageServer, servePages } from '../../fixtures/tool-servers/browser-pages.ts';
import { BrowserClient } from '../../fixtures/tool-servers/browser-pages-client.ts';

const STEP_MS = 2_000;
/** In addition to the time limit: two checks of the page, and the close. */
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

const navigate = async (path: string) => {
  const result = await browser.call('browser_navigate', { url: `${pages.url}${path}` });
  expect(result.isError, result.text).toBe(false);
  return result;
};
const errorTextOf = async (tool: string, args: Record<string, unknown>) => {
  const started = performance.now();
  const { isError, text } = await browser.call(tool, args);
  expect(isError, text).toBe(true);
  expect(performance.now() - started).toBeLessThan(STEP_MS + GRACE_MS);
  return text;
};

describe('an element', () => {
  test('that cannot be used causes an error that names the obstacle', async () => {
    await navigate('/form');
    expect(await errorTextOf('browser_click', { selector: '#under' })).toMatch(/covered by <div id="over"/);
    expect(await errorTextOf('browser_click', { selector: '#off' })).toContain('disabled');
    expect(await errorTextOf('browser_click', { selector: 'button[hidden]' })).toContain('not visible');
    expect(await errorTextOf('browser_fill', { selector: '#fixed', value: 'x' })).toContain('read-only');
  });

  test('that does not appear causes an error that explains how to find one', async () => {
    await navigate('/form');
    expect(await errorTextOf('browser_click', { selector: '#absent' })).toContain(
      'No element matches #absent',
    );
    expect(await errorTextOf('browser_screenshot', { name: 'x', selector: '#absent' })).toContain(
      'No element matches',
    );
    expect(await errorTextOf('browser_click', { selector: 'ref=e9999' })).toContain('browser_snapshot');
  });
});

describe('a page', () => {
  test('that does not respond, or never completes, is aborted at the time limit, and the next page loads', async () => {
    expect(await errorTextOf('browser_navigate', { url: `${pages.url}/silent` })).toContain(
      'time limit of 2 s',
    );
    expect(await errorTextOf('browser_navigate', { url: `${pages.url}/half` })).toContain(
      'time limit of 2 s',
    );
    expect((await navigate('/form')).structured).toMatchObject({ title: 'Form', status: 200 });
  });

  test('whose text arrives but not a picture is loaded, with a notice', async () => {
    const { text, structured } = await navigate('/slow-picture');
    expect(structured).toMatchObject({ title: 'Slow', status: 200 });
    expect(text).toContain('still loading');
  });

  test('that hangs in its own event handler is stopped, and stays usable', async () => {
    await navigate('/busy');
    expect(await errorTextOf('browser_click', { selector: '#hang' })).toContain('were stopped');
    expect(await browser.evaluate('document.title')).toBe('Busy');
  });
});

describe('a script', () => {
  test('that runs endlessly is stopped at the time limit, and the page stays usable', async () => {
    await navigate('/form');
    expect(await errorTextOf('browser_evaluate', { script: 'while (true);' })).toContain(
      'the page is still open',
    );
    expect(await browser.evaluate('document.title')).toBe('Form');
  });
});

describe('calls of the browser server', () => {
  test('that are cancelled stop immediately, and the next call works', async () => {
    await navigate('/form');
    const cancelling = new AbortController();
    const call = browser.call('browser_evaluate', { script: 'while (true);' }, cancelling.signal);
    setTimeout(() => cancelling.abort(), 300);
    await expect(call).rejects.toThrow();
    expect(await browser.evaluate('document.title')).toBe('Form');
  });

  test('run sequentially in the order of their arrival', async () => {
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
