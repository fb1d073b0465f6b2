// The one session of this program: a browser that starts with the first call, its pages, and the steps that tools make on
// them. Whatever breaks, the next call finds a working page, and is told what became of the one before.
//
//   no browser ── first step ──► page open ── crash, too much memory or time, closed ──► lost ── next step ──► page open
//
// 1. A step ends within its time limit: what the page computes is stopped, then the page is closed, then the browser.
// 2. A loss is told exactly once: to the step that it hits, or else to the next one. Only a navigation goes on after it.
// 3. Nothing of a page that is gone reaches a later step.

import { setTimeout as delay } from 'node:timers/promises';
import type { CDPSession, Page } from 'playwright-core';
import type { ToolCall } from '../tool.ts';
import { ToolError } from '../tool-error.ts';
import { type Excess, watchResources } from './chromium/resource-watch.ts';
import { type RunningBrowser, startBrowser } from './chromium/running-browser.ts';
import type { BrowserOptions } from './options.ts';
import { ActivityLog } from './pages/activity-log.ts';
import type { ConsoleLog } from './pages/console-log.ts';
import { PageStack } from './pages/page-stack.ts';
import { failureOf } from './pages/playwright-failure.ts';
import { BOUNDED_TEXT } from './pages/result-text.ts';
import { settle } from './pages/settle.ts';

/** How long a page has to show that it is still there, at each of the attempts to get it back. */
const SIGN_OF_LIFE_MS = 1_000;
/** How long after its effects a loss may be heard of. */
const LOSS_MS = 500;
const MAX_TITLE_CHARS = 200;

/** What a tool has in its hands while it works. */
export interface Step {
  readonly page: Page;
  readonly control: CDPSession;
  /** Aborted at the time limit, when the caller cancels, and when the page is lost. */
  readonly signal: AbortSignal;
  readonly stepMs: number;
}

export interface StepKind {
  /** It can begin with an empty page, as a navigation does. */
  readonly isFresh?: boolean;
  /** It sets nothing off that would have to be waited for. */
  readonly isLook?: boolean;
}

interface Open {
  readonly browser: RunningBrowser;
  readonly pages: PageStack;
  readonly stopped: AbortController;
}

export class Session {
  readonly activity = new ActivityLog();
  readonly consoleLog: ConsoleLog;
  readonly #options: BrowserOptions;
  #open: Open | undefined;
  #isClosed = false;
  /** What became of the page, for whoever has not heard of it. */
  #loss: string | undefined;
  #losing: AbortController | undefined;
  /** Pages or a browser that are being taken down: nothing begins before that is done. */
  #ending: Promise<void> = Promise.resolve();
  #starting: Promise<Open> | undefined;

  constructor(options: BrowserOptions, consoleLog: ConsoleLog) {
    this.#options = options;
    this.consoleLog = consoleLog;
  }

  get current(): Page | undefined {
    return this.#open?.pages.current;
  }

  statusOf(page: Page): number | undefined {
    return this.#open?.pages.statusOf(page);
  }

  /** The title of a page, bounded; empty when the page does not answer. */
  async titleOf(page: Page): Promise<string> {
    try {
      const control = await this.#open?.pages.controlOf(page);
      const expression = `${BOUNDED_TEXT}(document.title, ${MAX_TITLE_CHARS})`;
      const answer = await control?.send('Runtime.evaluate', { expression }, { timeout: SIGN_OF_LIFE_MS });
      return typeof answer?.result.value === 'string' ? answer.result.value : '';
    } catch {
      return '';
    }
  }

  /**
   * Does `work` on the current page.
   * @throws ToolError when it failed, with what to do; the reason of the call's signal when that was cancelled
   */
  async step<T>(call: ToolCall, work: (step: Step) => Promise<T>, kind: StepKind = {}): Promise<T> {
    this.#tellLoss(kind.isFresh ?? false);
    const { pages, page, control } = await this.#ready(call.signal);
    const { stepMs } = this.#options;
    const losing = new AbortController();
    this.#losing = losing;
    const late = AbortSignal.timeout(stepMs);
    const signal = AbortSignal.any([call.signal, late, losing.signal]);
    const working = work({ page, control, signal, stepMs }).then(async (value) => {
      if (!kind.isLook) await settle(pages, signal);
      return value;
    });
    try {
      return await Promise.race([working, whenAborted(signal)]);
    } catch (error) {
      working.catch(() => {});
      // The loss may be known a moment after what it broke.
      if (!signal.aborted && page.isClosed())
        await Promise.race([whenAborted(signal), delay(LOSS_MS)]).catch(() => {});
      if (losing.signal.aborted)
        throw new ToolError(`${this.#takeLoss() ?? 'The page is gone.'} ${AFTER_LOSS}`);
      const wasStuck = await this.#unstick(pages, page, control, signal.aborted);
      call.signal.throwIfAborted();
      throw this.#failure(error, late.aborted, wasStuck);
    } finally {
      this.#losing = undefined;
    }
  }

  /** Ends the browser for good. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#starting?.catch(() => {});
    await this.#ending;
    await this.#endBrowser();
  }

  #tellLoss(isFresh: boolean): void {
    const loss = this.#takeLoss();
    if (loss === undefined) return;
    if (!isFresh) throw new ToolError(`Nothing was done. Since the last call: ${loss} ${AFTER_LOSS}`);
    this.activity.page(`Since the last call: ${loss}`);
  }

  async #ready(signal: AbortSignal): Promise<{ pages: PageStack; page: Page; control: CDPSession }> {
    await this.#ending;
    signal.throwIfAborted();
    if (this.#isClosed) throw new ToolError('The server ends.');
    this.#starting = this.#open === undefined ? this.#start() : Promise.resolve(this.#open);
    const { pages } = await this.#starting;
    const page = pages.current ?? (await pages.open());
    return { pages, page, control: await pages.controlOf(page) };
  }

  async #start(): Promise<Open> {
    const browser = await startBrowser(this.#options, (trouble) => this.activity.trouble(trouble));
    const stopped = new AbortController();
    const pages = new PageStack(browser.context, {
      activity: this.activity,
      consoleLog: this.consoleLog,
      onLost: (reason) => this.#lose(reason),
      onExcess: (reason) => void this.#curb(open, { reason, isHanging: false }),
    });
    const open = { browser, pages, stopped };
    this.#open = open;
    browser.gone.then(() => {
      if (this.#open === open) this.#endWith('The browser ended unexpectedly.');
    });
    void watchResources(
      () => browser.processes(),
      this.#options,
      stopped.signal,
      (excess) => this.#curb(open, excess),
    );
    return open;
  }

  #lose(reason: string): void {
    this.#loss ??= reason;
    this.#losing?.abort();
  }

  async #curb(open: Open, { reason, isHanging }: Excess): Promise<void> {
    if (this.#open !== open) return;
    const pages = open.pages.all;
    // Without a page it is the browser itself that takes too much.
    if (isHanging || pages.length === 0) this.#endWith(`The browser was ended: ${reason}.`);
    else {
      this.#lose(`${pages.length === 1 ? 'The page was' : 'All pages were'} closed: ${reason}.`);
      this.#ending = this.#closePages(open, pages);
    }
    await this.#ending;
  }

  /**
   * Stops what the page is busy with; closes it when that is not to be stopped.
   * @param isBusy whether it is known to be busy
   * @returns whether there was anything to stop
   */
  async #unstick(pages: PageStack, page: Page, control: CDPSession, isBusy: boolean): Promise<boolean> {
    const open = this.#open;
    if (open === undefined || page.isClosed()) return false;
    const isAlive = () => inTime(control.send('Runtime.evaluate', { expression: '1' }));
    if (!isBusy && (await isAlive())) return false;
    await inTime(
      Promise.allSettled([control.send('Runtime.terminateExecution'), control.send('Page.stopLoading')]),
    );
    // Where nothing was to be stopped, the order to stop hits the first of these.
    if ((await isAlive()) || (await isAlive())) return true;
    pages.drop(page);
    this.#loss = 'The page did not answer any more and was closed.';
    this.#ending = this.#closePages(open, [page]);
    await this.#ending;
    return true;
  }

  #failure(error: unknown, isLate: boolean, wasStuck: boolean): unknown {
    const loss = this.#takeLoss();
    const state = wasStuck
      ? 'What its scripts were doing was stopped; the page is still open.'
      : 'The page is still open.';
    const after = loss === undefined ? state : `${loss} ${AFTER_LOSS}`;
    if (isLate)
      return new ToolError(
        `This took longer than ${this.#options.stepMs / 1000} s (--timeout-seconds) and was stopped. ${after}`,
      );
    const failure = failureOf(error);
    return wasStuck && failure instanceof ToolError ? new ToolError(`${failure.message} ${after}`) : failure;
  }

  #takeLoss(): string | undefined {
    const loss = this.#loss;
    this.#loss = undefined;
    return loss;
  }

  async #closePages(open: Open, pages: readonly Page[]): Promise<void> {
    const closed = pages.map(async (page) => {
      const control = open.pages.controlOf(page).catch(() => undefined);
      open.pages.drop(page);
      // Ends its process even in the midst of a computation; a page that is only closed may take its time.
      void control.then((each) => each?.send('Page.crash').catch(() => {}));
      await page.close();
    });
    if (await inTime(Promise.all(closed), 2 * SIGN_OF_LIFE_MS)) return;
    this.activity.page('The browser had to be ended with it: cookies and storage are gone.');
    await this.#endBrowser();
  }

  #endWith(reason: string): void {
    this.#lose(`${reason} Cookies and storage are gone with it.`);
    this.#ending = this.#endBrowser();
  }

  async #endBrowser(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    open?.stopped.abort();
    await open?.browser.close();
  }
}

const AFTER_LOSS = 'The next call gets an empty page: call browser_navigate first.';

function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** Whether `work` succeeded within a time. */
async function inTime(work: Promise<unknown>, ms = SIGN_OF_LIFE_MS): Promise<boolean> {
  return await Promise.race([
    work.then(
      () => true,
      () => false,
    ),
    delay(ms, false, { ref: false }),
  ]);
}
