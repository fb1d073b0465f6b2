// Starts one Chromium process with command line, proxy and profile folder, verifies its sandbox, and removes
// everything on close.
//
// 1. With the sandbox enabled, the browser runs sandboxed and not as root, or is closed again. Verified on
//    Linux only.
// 2. close() kills the process group if it does not exit within CLOSE_MS, removes the profile folder and
//    closes the proxy.
// 3. If this process dies, the pipes close and the browser exits.

import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, BrowserContext, CDPSession } from 'playwright-core';
import { refusalOf } from '../../../libs/rest/address-check.ts';
import { ToolError } from '../../tool-error.ts';
import { type FailedConnection, LoopbackProxy } from '../network/loopback-proxy.ts';
import type { BrowserOptions } from '../options.ts';
import { browserUser } from './browser-user.ts';
import { findBrowser, NO_BROWSER } from './find-browser.ts';
import { chromiumFlags } from './flags.ts';
import { loadChromium } from './playwright.ts';
import { createProfileFolder } from './profile-folder.ts';
import { toStartError } from './start-failure.ts';

const START_MS = 30_000;
const CLOSE_MS = 2_000;
const VIEWPORT = { width: 1280, height: 800 };

/** Environment variables passed to the browser. */
const PASSED_ENV = [
  ...['PATH', 'LANG', 'LC_ALL', 'TZ', 'FONTCONFIG_PATH', 'FONTCONFIG_FILE'],
  // The gateway finds leftover processes by this variable, and terminates them.
  'ACTOR_GATEWAY_OWNER',
];
const PASSED_ENV_WITH_WINDOW = ['DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'XDG_RUNTIME_DIR'];

export interface ProcessInfo {
  readonly pid: number;
  readonly type: string;
  readonly cpuSeconds: number;
}

export interface RunningBrowser {
  /** Starts with one empty page. Cookies and storage last until the browser closes. */
  readonly context: BrowserContext;
  /** Resolves when the browser has exited. */
  readonly whenClosed: Promise<void>;
  /** Returns the process list of Chromium; rejects if the browser does not respond. */
  processes(): Promise<readonly ProcessInfo[]>;
  close(): Promise<void>;
}

/**
 * Starts the browser.
 * @throws ToolError if no browser is installed or it cannot start as configured
 */
export async function startBrowser(
  options: BrowserOptions,
  onFailure: (failure: FailedConnection) => void,
): Promise<RunningBrowser> {
  const program = options.browserPath ?? findBrowser();
  if (program === undefined) throw new ToolError(NO_BROWSER);
  const user = await browserUser(options.isSandboxed);
  // `close` runs these functions in reverse order.
  const cleanups: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const step of cleanups.splice(0).reverse()) await step().catch(() => {});
  };
  try {
    const folder = await createProfileFolder(user);
    cleanups.push(() => folder.remove());
    const proxy = await LoopbackProxy.start({
      refusal: options.isPrivateAllowed ? () => undefined : refusalOf,
      uid: user?.uid ?? process.getuid?.(),
      onFailure,
    });
    cleanups.push(() => proxy.close());
    const flags = chromiumFlags({ ...options, profile: folder.profile, proxyPort: proxy.port });
    // For another user, the executable is a program that switches the user and starts the browser.
    const [executablePath = program, ...prefix] = user === undefined ? [] : [...user.prefix, '--', program];
    const chromium = await loadChromium();
    // Playwright requires a context for the profile folder; it shows no pages. Pages use an incognito
    // context, which stores nothing on disk.
    const profileContext = await chromium.launchPersistentContext(folder.profile, {
      executablePath,
      args: [...prefix, ...flags],
      ignoreDefaultArgs: true,
      artifactsDir: folder.artifacts,
      env: environment(folder.profile, options.isHeadless),
      timeout: START_MS,
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    });
    const browser = profileContext.browser();
    if (browser === null) throw new Error('the browser has no connection');
    const whenClosed = new Promise<void>((resolve) => browser.once('disconnected', () => resolve()));
    const control = await browser.newBrowserCDPSession();
    const processes = () => processList(control);
    let leaderPid = await leaderOf(processes);
    whenClosed.then(() => {
      // Leftover processes would still write to the folder.
      killGroup(leaderPid);
      // The system may assign the pid to another process.
      leaderPid = undefined;
    });
    cleanups.push(() => stopProcesses(profileContext, whenClosed, () => leaderPid));
    const context = await newContext(browser);
    await context.newPage();
    if (process.platform === 'linux' && options.isSandboxed) assertSandboxed(await processes());
    return { context, whenClosed, processes, close };
  } catch (error) {
    await close();
    throw error instanceof ToolError ? error : toStartError(error, program);
  }
}

function newContext(browser: Browser): Promise<BrowserContext> {
  return browser.newContext({
    viewport: VIEWPORT,
    acceptDownloads: false,
    // Service workers run outside pages and are not monitored.
    serviceWorkers: 'block',
    // An empty list denies all permissions; if omitted, the browser would prompt.
    permissions: [],
  });
}

function environment(home: string, isHeadless: boolean): Record<string, string> {
  const names = isHeadless ? PASSED_ENV : [...PASSED_ENV, ...PASSED_ENV_WITH_WINDOW];
  const variables = names.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(variables), HOME: home, TMPDIR: home };
}

async function processList(control: CDPSession): Promise<ProcessInfo[]> {
  const { processInfo } = await control.send('SystemInfo.getProcessInfo');
  return processInfo.map(({ id, type, cpuTime }) => ({ pid: id, type, cpuSeconds: cpuTime }));
}

/** Returns the leader of the browser's process group; undefined if it cannot be identified. */
async function leaderOf(processes: () => Promise<readonly ProcessInfo[]>): Promise<number | undefined> {
  const pid = (await processes()).find(({ type }) => type === 'browser')?.pid;
  if (pid === undefined || process.platform !== 'linux') return undefined;
  // The pid comes from the browser, which is not trusted: use it for a kill only if it is a child of this
  // process.
  const [, parent, group] = statOf(pid);
  return Number(parent) === process.pid && Number(group) === pid ? pid : undefined;
}

/** Returns state, parent, group and further fields of `/proc/<pid>/stat`. */
function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return text.slice(text.lastIndexOf(') ') + 2).split(' ');
}

function killGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // The process group has exited.
  }
}

async function stopProcesses(
  profileContext: BrowserContext,
  whenClosed: Promise<void>,
  leaderPid: () => number | undefined,
): Promise<void> {
  const deadline = delay(CLOSE_MS, undefined, { ref: false });
  await Promise.race([Promise.allSettled([profileContext.close(), whenClosed]), deadline]);
  if (leaderPid() === undefined) return;
  killGroup(leaderPid());
  await Promise.race([whenClosed, delay(CLOSE_MS, undefined, { ref: false })]);
}

/** Checks the renderer processes, because start scripts may have changed the command line. */
function assertSandboxed(processes: readonly ProcessInfo[]): void {
  const statuses = processes.flatMap(({ pid, type }) => {
    try {
      return [{ type, status: readFileSync(`/proc/${pid}/status`, 'latin1') }];
    } catch {
      // The process has exited.
      return [];
    }
  });
  const renderers = statuses.filter(({ type }) => type === 'renderer');
  const isFiltered = renderers.length > 0 && renderers.every(({ status }) => /^Seccomp:\s*2$/m.test(status));
  if (isFiltered && !statuses.some(({ status }) => /^Uid:.*\b0\b/m.test(status))) return;
  throw new ToolError(
    'The browser was stopped: it started without its sandbox, although the sandbox is enabled. A script may add ' +
      '--no-sandbox to its command line (check the start script of the browser and /etc/chromium.d), or its build ' +
      'has no sandbox. If all pages are trusted, the server can be started with --no-sandbox.',
  );
}
