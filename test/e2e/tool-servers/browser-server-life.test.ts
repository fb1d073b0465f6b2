// Life cycle of the browser: the user that runs it, the cleanup after any kind of exit, and error texts for
// the caller.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findBrowser } from '../../../tool-servers/browser/chromium/find-browser.ts';
import { eventually } from '../../fixtures/clients/mcp-client.ts';
import { servePages } from '../../fixtures/tool-servers/browser-pages.ts';
import {
  BrowserClient,
  browserServerFile,
  factsOf,
  type ProcessFacts,
} from '../../fixtures/tool-servers/browser-pages-client.ts';

const temporary = process.getuid?.() === 0 ? '/tmp' : tmpdir();
const folders: string[] = [];
const chromium = findBrowser() ?? 'chromium';
let pages: { url: string; port: number };

beforeAll(async () => {
  pages = await servePages({
    '/': '<title>Start</title><button id="hog">hog</button>',
    '/store': `<title>Store</title><script>document.cookie = 'mark=1; max-age=9999'; localStorage.mark = 'stored';
      indexedDB.open('mark'); caches.open('mark');</script>`,
    '/stored': '<title>Stored</title>',
    '/hog': `<title>Hog</title><script>const all = []; setInterval(() => { for (let n = 0; n < 3; n++)
      all.push(new Uint8Array(10000000).fill(7)); }, 20);</script>`,
    // Uses several threads, because a single thread may stay below the limit on a busy machine.
    '/spin': `<title>Spin</title><script>setTimeout(() => {
      const spin = URL.createObjectURL(new Blob(['while (true);']));
      for (let n = 0; n < 7; n++) new Worker(spin);
      while (true);
    }, 50);</script>`,
    // Few large messages, because many small ones slow down the browser: a hundred and sixty are too many.
    '/flood': `<title>Flood</title><script>setInterval(() => { for (let n = 0; n < 2; n++) console.log('x'.repeat(300000), { n }); }, 10);</script>`,
    '/crowd': '<title>Crowd</title><iframe src="/"></iframe>',
  });
});

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const start = (...options: string[]) =>
  BrowserClient.start(['--allow-private', '--timeout-seconds', '30', ...options]);
const foldersOf = (pid: number) =>
  readdirSync(temporary).filter(
    (name) => name.startsWith('actor-gateway-browser-') && name.includes(`-${pid}-`),
  );
const openStart = async (browser: BrowserClient) => {
  const result = await browser.call('browser_navigate', { url: `${pages.url}/` });
  expect(result.isError, result.text).toBe(false);
  return result;
};
const expectExit = (processes: readonly ProcessFacts[]) =>
  eventually('the end of the browser', () =>
    processes.every(({ pid, commandLine }) => factsOf(pid)?.commandLine !== commandLine),
  );

/** Creates a program that replaces the browser. */
function fakeBrowser(script: string): string {
  const folder = mkdtempSync(join(temporary, 'fake-browser-'));
  folders.push(folder);
  execFileSync('chmod', ['755', folder]);
  const file = join(folder, 'browser');
  writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

describe('the browser', () => {
  let browser: BrowserClient;
  beforeAll(async () => {
    browser = await BrowserClient.start(['--allow-private', '--timeout-seconds', '10'], {
      SECRET_TOKEN: 'do not tell',
      HTTP_PROXY: 'http://127.0.0.1:9',
    });
  });

  test('starts with the first call', async () => {
    await browser.client.listTools();
    await browser.client.listResources();
    expect(browser.processes()).toEqual([]);
    await openStart(browser);
    expect(browser.processes().length).toBeGreaterThan(3);
  });

  test('runs unprivileged and sandboxed, in a folder that only its user may read', async () => {
    await browser.call('browser_navigate', { url: `${pages.url}/crowd` });
    const processes = browser.processes();
    const field = ({ status }: ProcessFacts, name: string) =>
      new RegExp(`^${name}:[ \\t]*(.*)$`, 'm').exec(status)?.[1];
    for (const each of processes) {
      expect(field(each, 'Uid'), each.commandLine).not.toMatch(/\b0\b/);
      expect(field(each, 'Gid'), each.commandLine).not.toMatch(/\b0\b/);
      expect(field(each, 'Groups')?.trim(), each.commandLine).toBe(
        process.getuid?.() === 0 ? '' : field(each, 'Groups')?.trim(),
      );
      expect(each.commandLine).not.toContain('--no-sandbox');
    }
    const renderers = processes.filter(({ commandLine }) => commandLine.includes('--type=renderer'));
    expect(renderers.length).toBeGreaterThan(0);
    for (const renderer of renderers) {
      expect(field(renderer, 'Seccomp')).toBe('2');
      expect(field(renderer, 'NoNewPrivs')).toBe('1');
      // In a separate pid namespace, it has a second pid.
      expect(field(renderer, 'NSpid')?.split(/\s+/).length).toBeGreaterThan(1);
      expect(field(renderer, 'CapEff')).toMatch(/^0+$/);
    }
    const [folder = ''] = foldersOf(browser.pid);
    const profile = statSync(join(temporary, folder, 'profile'));
    expect(profile.mode & 0o777).toBe(0o700);
    expect(profile.uid).not.toBe(0);
  });

  test('inherits only the needed environment variables, and has no debugging port', () => {
    const [main] = browser.processes();
    const environ = readFileSync(`/proc/${main?.pid}/environ`, 'latin1');
    expect(environ).toContain('PATH=');
    expect(environ).not.toContain('SECRET_TOKEN');
    expect(environ).not.toContain('HTTP_PROXY');
    expect(main?.commandLine).toContain('--remote-debugging-pipe');
    expect(main?.commandLine).not.toContain('--remote-debugging-port');
  });

  test('that is killed fails the running call, and a new browser serves the next call', async () => {
    await openStart(browser);
    const [main] = browser.processes();
    const call = browser.call('browser_evaluate', { script: 'new Promise(() => {})' });
    await new Promise((resolve) => setTimeout(resolve, 200));
    process.kill(main?.pid ?? 0, 'SIGKILL');
    const { isError, text } = await call;
    expect(isError).toBe(true);
    expect(text).toContain('The browser exited unexpectedly');
    await openStart(browser);
    const [fresh] = browser.processes();
    expect(fresh?.pid).not.toBe(main?.pid);
    expect(foldersOf(browser.pid)).toHaveLength(1);
  });

  test('that is killed between two calls is reported to the next call, with a remedy', async () => {
    await openStart(browser);
    const processes = browser.processes();
    process.kill(processes[0]?.pid ?? 0, 'SIGKILL');
    await expectExit(processes);
    const error = await eventually('the loss', async () => {
      const result = await browser.call('browser_evaluate', { script: 'location.href' });
      return result.isError && result;
    });
    expect(error.text).toContain('The browser exited unexpectedly');
    expect(error.text).toContain('call browser_navigate first');
    expect((await openStart(browser)).text).not.toContain('unexpectedly');
  });

  test('returns an error if a page is killed, keeps the cookies, and opens a new page for the next call', async () => {
    await browser.call('browser_navigate', { url: `${pages.url}/store` });
    const call = browser.call('browser_evaluate', { script: 'new Promise(() => {})' });
    await new Promise((resolve) => setTimeout(resolve, 200));
    for (const { pid, commandLine } of browser.processes())
      if (commandLine.includes('--type=renderer')) process.kill(pid, 'SIGKILL');
    const { isError, text } = await call;
    expect(isError).toBe(true);
    expect(text).toContain('The page crashed');
    await browser.call('browser_navigate', { url: `${pages.url}/stored` });
    expect(await browser.evaluate('document.cookie')).toBe('mark=1');
  });

  test('closes a page that floods the console, before the memory of the server is full, and continues', async () => {
    await browser.call('browser_navigate', { url: `${pages.url}/flood` });
    let peakKb = 0;
    const error = await eventually(
      'the end of the flood',
      async () => {
        const result = await browser.call('browser_wait_for', { seconds: 0.1 });
        peakKb = Math.max(peakKb, Number(/^VmRSS:\s*(\d+)/m.exec(factsOf(browser.pid)?.status ?? '')?.[1]));
        return result.isError && result;
      },
      60_000,
    );
    expect(error.text).toContain('1000 lines per second to the console');
    expect(peakKb).toBeGreaterThan(50_000);
    // A busy machine delays the garbage collection. Without the limit, the memory grows to several gigabytes.
    expect(peakKb).toBeLessThan(1_200_000);
    await openStart(browser);
  });

  test('leaves no process and no folder when the client disconnects', async () => {
    const processes = browser.processes();
    expect(foldersOf(browser.pid)).toHaveLength(1);
    await browser.close();
    await expectExit(processes);
    expect(foldersOf(browser.pid)).toEqual([]);
  });
});

describe('sessions of the browser server', () => {
  const look =
    'return [document.cookie, { ...localStorage }, (await indexedDB.databases()).length, (await caches.keys()).length]';

  test('see no data of earlier sessions; processes and folders of sessions ended by SIGKILL or SIGTERM are removed', async () => {
    const first = await start();
    await first.call('browser_navigate', { url: `${pages.url}/store` });
    await first.call('browser_navigate', { url: `${pages.url}/stored` });
    expect(await first.evaluate(look)).toEqual(['mark=1', { mark: 'stored' }, 1, 1]);
    await endBy('SIGKILL', first);
    expect(foldersOf(first.pid)).toHaveLength(1);

    const second = await start();
    await second.call('browser_navigate', { url: `${pages.url}/stored` });
    expect(await second.evaluate(look)).toEqual(['', {}, 0, 0]);
    expect(foldersOf(first.pid)).toEqual([]);
    await endBy('SIGTERM', second);
    expect(foldersOf(second.pid)).toEqual([]);
  });

  async function endBy(signal: NodeJS.Signals, browser: BrowserClient): Promise<void> {
    const processes = browser.processes();
    expect(processes.length).toBeGreaterThan(3);
    process.kill(browser.pid, signal);
    await expectExit(processes);
    await eventually('the end of the server', () => factsOf(browser.pid) === undefined);
  }
});

describe('the limits of a page', () => {
  test('of memory and CPU time close the page, not the session, and the next call reports it', async () => {
    const browser = await start(
      '--max-memory-mb',
      '600',
      // Low enough for a busy machine, over a longer time than a page load.
      '--max-cpu-percent',
      '40',
      '--max-cpu-seconds',
      '2',
    );
    await browser.call('browser_navigate', { url: `${pages.url}/store` });
    for (const [path, reason] of [
      ['/hog', 'MB of memory (limit: 600 MB'],
      ['/spin', '% of a processor core for 2 s (limit: 40 %'],
    ]) {
      const processes = browser.processes().map(({ pid }) => pid);
      // The next call reports it once. For a slow page that is the call that loads it.
      let result = await browser.call('browser_navigate', { url: `${pages.url}${path}` });
      const error = await eventually(
        `the excess of ${path}`,
        async () => {
          if (result.isError && result.text.includes('limit')) return result;
          result = await browser.call('browser_wait_for', { seconds: 0.1 });
          return false;
        },
        60_000,
      );
      expect(error.text).toContain(reason);
      const next = await browser.call('browser_navigate', { url: `${pages.url}/stored` });
      expect(next.isError, next.text).toBe(false);
      expect(await browser.evaluate('document.cookie')).toBe('mark=1');
      expect(processes).toContain(browser.processes()[0]?.pid);
    }
    await browser.close();
  });
});

describe('a start of the browser that fails', () => {
  const attempt = async (options: string[], env: Record<string, string> = {}) => {
    const browser = await BrowserClient.start(options, env);
    const { tools } = await browser.client.listTools();
    expect(tools).toHaveLength(9);
    const result = await browser.call('browser_navigate', { url: `${pages.url}/` });
    expect(result.isError).toBe(true);
    const remains = {
      processes: browser.processes(),
      folders: foldersOf(browser.pid),
      stderr: browser.stderr,
    };
    await browser.close();
    return { ...result, ...remains };
  };

  test('because the system has no sandbox explains how to enable it, names --no-sandbox, and leaves nothing behind', async () => {
    const program = fakeBrowser(
      'echo "FATAL:zygote_host_impl_linux.cc(128)] No usable sandbox! /secret/path" >&2; exit 1',
    );
    const { text, processes, folders, stderr } = await attempt(['--browser-path', program]);
    expect(text).toContain('--no-sandbox');
    expect(text).toContain('user namespaces');
    expect(text).not.toContain('/secret/path');
    expect(stderr).toContain('/secret/path');
    expect(processes).toEqual([]);
    expect(folders).toEqual([]);
  });

  test('because the browser program disables the sandbox is reported, and the browser is stopped', async () => {
    const program = fakeBrowser(`exec ${chromium} "$@" --no-sandbox`);
    const { text, processes } = await attempt(['--browser-path', program]);
    expect(text).toContain('started without its sandbox, although the sandbox is enabled');
    expect(processes).toEqual([]);
  });

  test('because setpriv is missing for root names this program and --no-sandbox; other users need no option', async () => {
    const browser = await BrowserClient.start(['--allow-private', '--browser-path', chromium], {
      PATH: '/nowhere',
    });
    const { isError, text } = await browser.call('browser_navigate', { url: `${pages.url}/` });
    const isRoot = process.getuid?.() === 0;
    expect(isError, text).toBe(isRoot);
    expect(text).toMatch(isRoot ? /setpriv is missing .*util-linux.* --no-sandbox/ : /"Start"/);
    await browser.close();
  });

  test('because of a missing display names the problem', async () => {
    expect((await attempt(['--headed'])).text).toContain('there is no display for its window');
  });

  test('for an unknown reason tells the caller nothing about the machine', async () => {
    const { text } = await attempt(['--browser-path', fakeBrowser('echo "weird /etc/secret" >&2; exit 3')]);
    expect(text).toBe('The browser did not start: see the log of the server (stderr).');
  });

  test('can be avoided by --no-sandbox, and the browser still does not run as root', async () => {
    const browser = await start('--no-sandbox');
    await openStart(browser);
    const [main] = browser.processes();
    expect(main?.commandLine).toContain('--no-sandbox');
    expect(main?.status).not.toMatch(/^Uid:.*\b0\b/m);
    await browser.close();
  });
});

describe('the command line of the browser server', () => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [browserServerFile, ...args], { encoding: 'utf8', input: '' });

  test.each([
    [['--browser-path', '/no/such/program'], 'Not an executable file'],
    [['--timeout-seconds', '0'], 'from 1 to 600'],
    [['--timeout-seconds', '1.5'], 'from 1 to 600'],
    [['--max-memory-mb', 'lots'], 'from 256'],
    [['--max-cpu-percent', '-1'], 'from 0'],
    [['--unknown'], 'unknown option'],
    [['argument'], 'too many arguments'],
  ])('rejects %j with code 2 and the reason', (args, reason) => {
    const { status, stderr, stdout } = run(...args);
    expect(status).toBe(2);
    expect(stderr).toContain(reason);
    expect(stdout).toBe('');
  });

  test('has a help text', () => {
    const { status, stdout } = run('--help');
    expect(status).toBe(0);
    for (const option of ['--allow-private', '--no-sandbox', '--browser-path', '--headed', '--max-memory-mb'])
      expect(stdout).toContain(option);
  });

  test('exits with code 0 without a browser if the client disconnects immediately', () => {
    const started = performance.now();
    const { status, stderr } = run();
    expect([status, stderr]).toEqual([0, '']);
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});
