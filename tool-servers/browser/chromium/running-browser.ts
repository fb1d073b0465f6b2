// One run of Chromium: started with our own command line, with its proxy and its folder, checked to be as confined as it
// was asked to be, and taken down with everything that belongs to it.
//
// 1. It runs sandboxed and not as root, or it does not run; where the system can tell, that is checked, not trusted.
// 2. close() ends its whole process group within CLOSE_MS, gracefully or not, and leaves no folder and no port behind.
// 3. When this program dies without a word, the pipes to the browser close, and it ends by itself.

import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, BrowserContext, CDPSession } from 'playwright-core';
import { refusalOf } from '../../../libs/rest/address-check.ts';
import { ToolError } from '../../tool-error.ts';
import { LoopbackProxy, type Trouble } from '../network/loopback-proxy.ts';
import type { BrowserOptions } from '../options.ts';
import { browserUser } from './browser-user.ts';
import { chromiumFlags } from './chromium-flags.ts';
import { findBrowser, NO_BROWSER } from './find-browser.ts';
import { loadChromium } from './playwright.ts';
import { makeProfileFolder } from './profile-folder.ts';
import { startFailure } from './start-failure.ts';

const START_MS = 30_000;
const CLOSE_MS = 2_000;
const VIEWPORT = { width: 1280, height: 800 };

/** What the browser may see of our environment. */
const PASSED_ENV = [
  ...['PATH', 'LANG', 'LC_ALL', 'TZ', 'FONTCONFIG_PATH', 'FONTCONFIG_FILE'],
  // The mark by which a gateway finds what its servers have started, should this one not have ended it.
  'ACTOR_GATEWAY_OWNER',
];
const PASSED_ENV_WITH_WINDOW = ['DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'XDG_RUNTIME_DIR'];

export interface ProcessInfo {
  readonly pid: number;
  readonly type: string;
  readonly cpuSeconds: number;
}

export interface RunningBrowser {
  /** Has one empty page, and no cookie and no storage but this run's. */
  readonly context: BrowserContext;
  /** Resolves once the browser is gone, wanted or not. */
  readonly gone: Promise<void>;
  /** Chromium's own list; rejects when the browser does not answer. */
  processes(): Promise<readonly ProcessInfo[]>;
  close(): Promise<void>;
}

/**
 * Starts the browser.
 * @throws ToolError when there is none, or when it cannot run as it was asked to
 */
export async function startBrowser(
  options: BrowserOptions,
  onTrouble: (trouble: Trouble) => void,
): Promise<RunningBrowser> {
  const program = options.browserPath ?? findBrowser();
  if (program === undefined) throw new ToolError(NO_BROWSER);
  const user = await browserUser(options.isSandboxed);
  // Last in, first out.
  const undo: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step().catch(() => {});
  };
  try {
    const folder = await makeProfileFolder(user);
    undo.push(() => folder.remove());
    const proxy = await LoopbackProxy.start({
      refusal: options.isPrivateAllowed ? () => undefined : refusalOf,
      uid: user?.uid ?? process.getuid?.(),
      onTrouble,
    });
    undo.push(() => proxy.close());
    const flags = chromiumFlags({ ...options, profile: folder.profile, proxyPort: proxy.port });
    const [command = program, ...prefix] = user === undefined ? [] : [...user.prefix, '--', program];
    const chromium = await loadChromium();
    // Playwright's own context holds the profile; pages get one off the record, which keeps nothing on disk.
    const profile = await chromium.launchPersistentContext(folder.profile, {
      executablePath: command,
      args: [...prefix, ...flags],
      ignoreDefaultArgs: true,
      artifactsDir: folder.artifacts,
      env: environment(folder.profile, options.isHeadless),
      timeout: START_MS,
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    });
    const browser = profile.browser();
    if (browser === null) throw new Error('the browser has no connection');
    const gone = new Promise<void>((resolve) => browser.once('disconnected', () => resolve()));
    const control = await browser.newBrowserCDPSession();
    const processes = () => processList(control);
    let main = await mainProcess(processes);
    gone.then(() => {
      // What it leaves behind when it dies of something would go on writing into the folder for a while.
      killGroup(main);
      main = undefined;
    });
    undo.push(() => endProcesses(profile, gone, () => main));
    const context = await newContext(browser);
    await context.newPage();
    if (process.platform === 'linux' && options.isSandboxed) checkConfinement(await processes());
    return { context, gone, processes, close };
  } catch (error) {
    await close();
    throw error instanceof ToolError ? error : startFailure(error, program);
  }
}

function newContext(browser: Browser): Promise<BrowserContext> {
  return browser.newContext({
    viewport: VIEWPORT,
    acceptDownloads: false,
    // They live on without a page, where nobody watches them.
    serviceWorkers: 'block',
    // Given none, the browser denies all; not given at all, it would ask a person that is not there.
    permissions: [],
  });
}

function environment(home: string, isHeadless: boolean): Record<string, string> {
  const names = isHeadless ? PASSED_ENV : [...PASSED_ENV, ...PASSED_ENV_WITH_WINDOW];
  const passed = names.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(passed), HOME: home, TMPDIR: home };
}

async function processList(control: CDPSession): Promise<ProcessInfo[]> {
  const { processInfo } = await control.send('SystemInfo.getProcessInfo');
  return processInfo.map(({ id, type, cpuTime }) => ({ pid: id, type, cpuSeconds: cpuTime }));
}

/** The leader of the browser's process group; undefined where it cannot be told apart from anybody else's process. */
async function mainProcess(processes: () => Promise<readonly ProcessInfo[]>): Promise<number | undefined> {
  const pid = (await processes()).find(({ type }) => type === 'browser')?.pid;
  if (pid === undefined || process.platform !== 'linux') return undefined;
  // Its number comes from the browser itself, which is not to be believed about whom to kill: it has to be our child.
  const [, parent, group] = statOf(pid);
  return Number(parent) === process.pid && Number(group) === pid ? pid : undefined;
}

/** State, parent, group and what follows of `/proc/<pid>/stat`. */
function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return text.slice(text.lastIndexOf(') ') + 2).split(' ');
}

function killGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // Gone meanwhile.
  }
}

async function endProcesses(
  profile: BrowserContext,
  gone: Promise<void>,
  main: () => number | undefined,
): Promise<void> {
  const deadline = delay(CLOSE_MS, undefined, { ref: false });
  await Promise.race([Promise.allSettled([profile.close(), gone]), deadline]);
  if (main() === undefined) return;
  killGroup(main());
  await Promise.race([gone, delay(CLOSE_MS, undefined, { ref: false })]);
}

/** Looks at what runs pages: the operator's start scripts may have changed our command line. */
function checkConfinement(processes: readonly ProcessInfo[]): void {
  const statuses = processes.flatMap(({ pid, type }) => {
    try {
      return [{ type, status: readFileSync(`/proc/${pid}/status`, 'latin1') }];
    } catch {
      // Gone meanwhile.
      return [];
    }
  });
  const renderers = statuses.filter(({ type }) => type === 'renderer');
  const isFiltered = renderers.length > 0 && renderers.every(({ status }) => /^Seccomp:\s*2$/m.test(status));
  if (isFiltered && !statuses.some(({ status }) => /^Uid:.*\b0\b/m.test(status))) return;
  throw new ToolError(
    'The browser was stopped: it started without its sandbox, although nobody asked for that. Something adds ' +
      '--no-sandbox to its command line (look at the start script of the browser and at /etc/chromium.d), or its build ' +
      'has no sandbox. If all pages are trusted, the server can be started with --no-sandbox.',
  );
}
