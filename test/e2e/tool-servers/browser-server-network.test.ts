// Network access of pages. First, the built server with the defaults lets no page reach this machine. Then
// the real Chromium runs with the command line and the proxy of the server. There one loopback address
// represents the public network, to test redirects, sub-requests and other protocols against a forbidden
// address.

import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { browserUser } from '../../../tool-servers/browser/chromium/browser-user.ts';
import { findBrowser } from '../../../tool-servers/browser/chromium/find-browser.ts';
import { chromiumFlags } from '../../../tool-servers/browser/chromium/flags.ts';
import {
  type FailedConnection,
  LoopbackProxy,
} from '../../../tool-servers/browser/network/loopback-proxy.ts';
import {
  type Canary,
  redirect,
  servePages,
  tcpCanary,
  udpCanary,
} from '../../fixtures/tool-servers/browser-pages.ts';
import { BrowserClient } from '../../fixtures/tool-servers/browser-pages-client.ts';

describe('without --allow-private', () => {
  let browser: BrowserClient;
  let canary: Canary;

  beforeAll(async () => {
    browser = await BrowserClient.start(['--timeout-seconds', '10']);
    canary = await tcpCanary();
  });

  test.each([
    ['http://127.0.0.1', 'loopback'],
    ['https://127.0.0.1', 'loopback'],
    ['http://localhost', 'loopback'],
    ['https://localhost', 'loopback'],
    ['http://page.localhost', ''],
    ['http://[::1]', 'loopback'],
    ['http://[::ffff:127.0.0.1]', 'loopback'],
    ['http://2130706433', 'loopback'],
    ['http://0x7f.1', 'loopback'],
    ['http://0.0.0.0', 'unspecified'],
    ['https://[::]', 'unspecified'],
  ])('%s is rejected before a byte is sent, with the reason', async (origin, reason) => {
    const { isError, text } = await browser.call('browser_navigate', { url: `${origin}:${canary.port}/` });
    expect(isError).toBe(true);
    expect(text).toContain(reason);
    if (reason !== '') expect(text).toContain('--allow-private');
    expect(canary.traffic).toEqual([]);
  });

  test.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://10.0.0.1/',
    'http://192.168.1.1/',
    'http://100.100.100.200/',
  ])('%s is rejected immediately', async (url) => {
    const started = performance.now();
    const { isError, text } = await browser.call('browser_navigate', { url });
    expect(isError).toBe(true);
    expect(text).toMatch(/link-local|private|carrier-grade/);
    // A connection attempt would last 30 s, which is the time limit of the server.
    expect(performance.now() - started).toBeLessThan(15_000);
  });

  test('no script of a page can reach the local machine, with any API', async () => {
    await browser.call('browser_navigate', { url: 'about:blank' });
    const publicAddress = `127.0.0.1:${canary.port}`;
    const { isError, text } = await browser.call('browser_evaluate', {
      script: `
        const there = '${publicAddress}';
        const failed = await Promise.allSettled([
          fetch('http://' + there, { mode: 'no-cors' }).then((answer) => answer.type),
          fetch('https://' + there, { mode: 'no-cors' }),
        ]);
        for (const tag of ['img', 'iframe', 'script', 'link', 'video', 'embed']) {
          const element = document.createElement(tag);
          if (tag === 'link') element.rel = 'stylesheet';
          element[tag === 'link' ? 'href' : 'src'] = 'http://' + there + '/' + tag;
          document.documentElement.append(element);
        }
        for (const rel of ['preconnect', 'dns-prefetch', 'prefetch']) {
          const link = document.createElement('link');
          link.rel = rel;
          link.href = 'http://' + there + '/' + rel;
          document.head.append(link);
        }
        const socket = new WebSocket('ws://' + there);
        const ended = new Promise((resolve) => { socket.onclose = (event) => resolve(event.code); });
        new EventSource('http://' + there + '/events');
        navigator.sendBeacon('http://' + there + '/beacon', 'x');
        new Worker(URL.createObjectURL(new Blob(['fetch("http://' + there + '/worker")'])));
        window.open('http://' + there + '/popup');
        const code = await ended;
        await new Promise((resolve) => setTimeout(resolve, 500));
        return code;`,
    });
    expect(isError, text).toBe(false);
    expect(text).toContain(`Connection refused: ${publicAddress}: 127.0.0.1 is a loopback address`);
    expect(canary.traffic).toEqual([]);
  });
});

describe('the browser behind its proxy', () => {
  const folders: string[] = [];
  const contexts: BrowserContext[] = [];
  let proxy: LoopbackProxy;
  let troubles: FailedConnection[] = [];
  let lookups: string[] = [];

  beforeAll(async () => {
    const user = await browserUser(true);
    proxy = await LoopbackProxy.start({
      // Here 127.0.0.1 is the public network. All other addresses are forbidden.
      refusal: (address) => (address === '127.0.0.1' ? undefined : 'a forbidden address'),
      resolve: async (name) => {
        lookups.push(name);
        const isSecond = lookups.filter((each) => each === name).length > 1;
        const address = /^[\d.]+$/.test(name)
          ? name
          : name.startsWith('rebind') && isSecond
            ? '127.0.0.2'
            : '127.0.0.1';
        return [{ address, family: 4 }];
      },
      uid: user?.uid ?? process.getuid?.(),
      onFailure: (trouble) => troubles.push(trouble),
    });
  });

  afterAll(async () => {
    await Promise.all(contexts.map((context) => context.close()));
    await proxy.close();
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
  });

  let shared: Promise<Browser> | undefined;

  /** Opens a page in a browser with the command line of the server. */
  async function open(): Promise<Page> {
    shared ??= launch(/^$/);
    const page = await (await (await shared).newContext()).newPage();
    troubles = [];
    lookups = [];
    return page;
  }

  async function launch(without: RegExp): Promise<Browser> {
    const user = await browserUser(true);
    const program = findBrowser() ?? 'chromium';
    const profile = await mkdtemp(join(user === undefined ? tmpdir() : '/tmp', 'browser-network-'));
    folders.push(profile);
    if (user !== undefined) await chown(profile, user.uid, user.gid);
    const flags = chromiumFlags({ profile, proxyPort: proxy.port, isHeadless: true, isSandboxed: true });
    const [command = program, ...prefix] = user === undefined ? [] : [...user.prefix, '--', program];
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: command,
      args: [...prefix, ...flags.filter((flag) => !without.test(flag))],
      ignoreDefaultArgs: true,
      env: { PATH: process.env.PATH, HOME: profile, TMPDIR: profile },
    });
    contexts.push(context);
    const browser = context.browser();
    if (browser === null) throw new Error('no browser');
    return browser;
  }

  const refusedAt = (authority: string) =>
    troubles.filter((each) => each.authority === authority && each.isRefusal);

  test('follows redirects, frames, sub-requests, sockets and workers only to allowed addresses', async () => {
    const forbidden = await tcpCanary('127.0.0.2');
    const forbiddenAddress = `127.0.0.2:${forbidden.port}`;
    const allowed = await servePages({
      '/': '<title>Public</title>',
      '/redirect': redirect,
      '/framed': `<iframe src="http://${forbiddenAddress}/frame"></iframe><img src="https://${forbiddenAddress}/picture">`,
    });
    const page = await open();

    for (const target of [`http://${forbiddenAddress}/`, `https://${forbiddenAddress}/`]) {
      troubles = [];
      const result = await page
        .goto(`${allowed.url}/redirect?to=${encodeURIComponent(target)}`)
        .catch(() => null);
      expect(result?.status() ?? 403, target).toBe(403);
      expect(refusedAt(forbiddenAddress).length, target).toBeGreaterThan(0);
      if (result === null) await page.waitForURL(/^chrome-error:/);
    }

    troubles = [];
    await page.goto(`${allowed.url}/framed`);
    expect(refusedAt(forbiddenAddress).length).toBeGreaterThanOrEqual(2);

    await page.goto(`${allowed.url}/`);
    troubles = [];
    const result = await page.evaluate(
      `(async () => {
        const closed = new Promise((resolve) => { new WebSocket('ws://${forbiddenAddress}').onclose = (event) => resolve(event.code); });
        const fetched = fetch('/redirect?to=' + encodeURIComponent('http://${forbiddenAddress}/'), { mode: 'no-cors' }).catch(() => 'failed');
        const worker = new Worker(URL.createObjectURL(new Blob(['fetch("http://${forbiddenAddress}/worker").catch(() => 0).then(() => postMessage(1))'])));
        const worked = new Promise((resolve) => { worker.onmessage = resolve; });
        await fetched; await worked;
        return await closed;
      })()`,
    );
    expect(result).toBe(1006);
    expect(refusedAt(forbiddenAddress).length).toBeGreaterThanOrEqual(3);
    expect(forbidden.traffic).toEqual([]);
  });

  test('is protected against a name with a changed address (DNS rebinding)', async () => {
    const forbidden = await tcpCanary('127.0.0.2');
    const allowed = await servePages({ '/': '<title>Rebind</title>' });
    const page = await open();
    await page.goto(`http://rebind.test:${allowed.port}/`);
    expect(await page.title()).toBe('Rebind');
    const answer = await page.evaluate(
      `fetch('http://rebind.test:${forbidden.port}/secret', { mode: 'no-cors' }).then(() => 'answered', () => 'failed')`,
    );
    expect(answer).toBe('answered');
    expect(refusedAt(`rebind.test:${forbidden.port}`)).toHaveLength(1);
    expect(forbidden.traffic).toEqual([]);
  });

  /** Uses all APIs of a page that send datagrams, or make the browser send datagrams. */
  const sendDatagrams = (port: number, turnPort: number) => `(async () => {
    const caller = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${port}' },
      { urls: 'turn:127.0.0.1:${turnPort}?transport=tcp', username: 'u', credential: 'c' }] });
    const callee = new RTCPeerConnection();
    caller.createDataChannel('x');
    await caller.setLocalDescription(await caller.createOffer());
    await callee.setRemoteDescription(caller.localDescription);
    await callee.setLocalDescription(await callee.createAnswer());
    await caller.setRemoteDescription(callee.localDescription);
    await caller.addIceCandidate({ sdpMid: '0', sdpMLineIndex: 0,
      candidate: 'candidate:1 1 udp 2122260223 127.0.0.1 ${port} typ host' }).catch(() => {});
    if (typeof WebTransport === 'function')
      await Promise.race([new WebTransport('https://127.0.0.1:${port}/').ready.catch(() => {}), new Promise((resolve) => setTimeout(resolve, 500))]);
    const link = document.createElement('link');
    link.rel = 'dns-prefetch';
    link.href = 'http://prefetched.test';
    document.head.append(link);
    await fetch('https://127.0.0.1:${port}/', { mode: 'no-cors' }).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 700));
  })()`;

  test('sends no datagram, neither for WebRTC nor for QUIC, and no connection around the proxy', async () => {
    const datagrams = await udpCanary();
    const relay = await tcpCanary('127.0.0.2');
    const allowed = await servePages({ '/': '<title>Secure context</title>' });
    const page = await open();
    await page.goto(`${allowed.url}/`);
    expect(await page.evaluate('isSecureContext')).toBe(true);
    await page.evaluate(sendDatagrams(datagrams.port, relay.port));
    expect(datagrams.traffic).toEqual([]);
    expect(relay.traffic).toEqual([]);
    expect(lookups.every((name) => name === '127.0.0.1' || name.endsWith('.invalid'))).toBe(true);
  });

  test('sends datagrams if started without the protective options, which verifies the previous test', async () => {
    const datagrams = await udpCanary();
    const allowed = await servePages({ '/': '<title>Secure context</title>' });
    const page = await (await launch(/webrtc|quic|disable-features/)).newPage();
    await page.goto(`${allowed.url}/`);
    await page.evaluate(sendDatagrams(datagrams.port, 9));
    expect(datagrams.traffic.length).toBeGreaterThan(0);
  });
});
