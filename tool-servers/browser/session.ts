// Browser session of the server. The first call starts the browser. Each tool call runs one step on the
// current page. If the page is lost (a crash, a limit, closed by a script), a later step starts with a new
// page.
//
//   no browser ── first step ──► page open ── crash, limit exceeded, closed ──► lost ── next step ─► open
//
// 1. At its time limit, a step is stopped: first the script, then the page, then the browser, until one of
//    these succeeds.
// 2. Each loss is reported once: to the running step, otherwise to the next step, which fails unless it
//    navigates.
// 3. Later steps receive no events from a lost page.

import { setTimeout as delay } from 'node:timers/promises';
import type { CDPSession, Page } from 'playwright-core';
import type { ServerToolCall } from '../tool.ts';
import { ToolError } from '../tool-error.ts';
import { type Excess, watchResources } from './chromium/resource-watch.ts';
import { type RunningBrowser, startBrowser } from './chromium/running-browser.ts';
import type { BrowserOptions } from './options.ts';
import { ActivityLog } from './pages/activity-log.ts';
import type { ConsoleLog } from './pages/console-log.ts';
import { toToolError } from './pages/playwright-failure.ts';
import { BOUNDED_TEXT } from './pages/result-text.ts';
import { waitForEffects } from './pages/settle.ts';
import { PageStack } from './pages/stack.ts';

/** Maximum response time of a page, per recovery attempt. */
const RESPONSE_MS = 1_000;
/** A step may fail this long before the loss that caused the failure is reported. */
const LOSS_REPORT_MS = 500;
const MAX_TITLE_CHARS = 200;

/** Page and connection for a tool call. */
export interface BrowserStep {
  readonly page: Page;
  readonly control: CDPSession;
  /** Aborted at the time limit, on cancellation, and when the page is lost. */
  readonly signal: AbortSignal;
  readonly callTimeoutMs: number;
}

export interface StepKind {
  /** True if the step can start on an empty page, like a navigation. */
  readonly canStartFresh?: boolean;
  /** True if the step causes no page activity to wait for. */
  readonly isReadOnly?: boolean;
}

interface OpenBrowser {
  readonly browser: RunningBrowser;
  readonly pages: PageStack;
  readonly watchStop: AbortController;
}

export class Session {
  readonly activity = new ActivityLog();
  readonly consoleLog: ConsoleLog;
  readonly #options: BrowserOptions;
  #openBrowser: OpenBrowser | undefined;
  #isClosed = false;
  /** Sentence about a lost page that no step has reported yet. */
  #loss: string | undefined;
  #lossSignal: AbortController | undefined;
  /** Pending close of pages or browser; the next step awaits it. */
  #closing: Promise<void> = Promise.resolve();
  #starting: Promise<OpenBrowser> | undefined;

  constructor(options: BrowserOptions, consoleLog: ConsoleLog) {
    this.#options = options;
    this.consoleLog = consoleLog;
  }

  get current(): Page | undefined {
    return this.#openBrowser?.pages.current;
  }

  statusOf(page: Page): number | undefined {
    return this.#openBrowser?.pages.statusOf(page);
  }

  /** Returns the page's title, truncated; empty if the page does not respond. */
  async titleOf(page: Page): Promise<string> {
    try {
      const control = await this.#openBrowser?.pages.controlOf(page);
      const expression = `${BOUNDED_TEXT}(document.title, ${MAX_TITLE_CHARS})`;
      const response = await control?.send('Runtime.evaluate', { expression }, { timeout: RESPONSE_MS });
      return typeof response?.result.value === 'string' ? response.result.value : '';
    } catch {
      return '';
    }
  }

  /**
   * Runs `work` on the current page.
   * @throws ToolError on failure, with the remedy; the reason of the call's signal on cancellation
   */
  async step<T>(
    call: ServerToolCall,
    work: (step: BrowserStep) => Promise<T>,
    kind: StepKind = {},
  ): Promise<T> {
    this.#reportLoss(kind.canStartFresh ?? false);
    const { pages, page, control } = await this.#preparePage(call.signal);
    const { callTimeoutMs } = this.#options;
    const lost = new AbortController();
    this.#lossSignal = lost;
    const timeout = AbortSignal.timeout(callTimeoutMs);
    const signal = AbortSignal.any([call.signal, timeout, lost.signal]);
    const result = work({ page, control, signal, callTimeoutMs }).then(async (value) => {
      if (!kind.isReadOnly) await waitForEffects(pages, signal);
      return value;
    });
    try {
      return await Promise.race([result, whenAborted(signal)]);
    } catch (error) {
      result.catch(() => {});
      // The report of a loss may follow its effect.
      if (!signal.aborted && page.isClosed())
        await Promise.race([whenAborted(signal), delay(LOSS_REPORT_MS)]).catch(() => {});
      if (lost.signal.aborted)
        throw new ToolError(`${this.#takeLoss() ?? 'The page was lost.'} ${AFTER_LOSS}`);
      const wasStuck = await this.#stopPage(pages, page, control, signal.aborted);
      call.signal.throwIfAborted();
      throw this.#failureOf(error, timeout.aborted, wasStuck);
    } finally {
      this.#lossSignal = undefined;
    }
  }

  /** Closes the browser permanently. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#starting?.catch(() => {});
    await this.#closing;
    await this.#closeBrowser();
  }

  #reportLoss(canStartFresh: boolean): void {
    const loss = this.#takeLoss();
    if (loss === undefined) return;
    if (!canStartFresh)
      throw new ToolError(`The call was not executed. Since the last call: ${loss} ${AFTER_LOSS}`);
    this.activity.addNote(`Since the last call: ${loss}`);
  }

  async #preparePage(signal: AbortSignal): Promise<{ pages: PageStack; page: Page; control: CDPSession }> {
    await this.#closing;
    signal.throwIfAborted();
    if (this.#isClosed) throw new ToolError('The server is stopping.');
    this.#starting = this.#openBrowser === undefined ? this.#start() : Promise.resolve(this.#openBrowser);
    const { pages } = await this.#starting;
    const page = pages.current ?? (await pages.open());
    return { pages, page, control: await pages.controlOf(page) };
  }

  async #start(): Promise<OpenBrowser> {
    const browser = await startBrowser(this.#options, (failure) => this.activity.addFailure(failure));
    const watchStop = new AbortController();
    const pages = new PageStack(browser.context, {
      activity: this.activity,
      consoleLog: this.consoleLog,
      onLost: (reason) => this.#recordLoss(reason),
      onExcess: (reason) => void this.#enforceLimit(openBrowser, { reason, isHanging: false }),
    });
    const openBrowser = { browser, pages, watchStop };
    this.#openBrowser = openBrowser;
    browser.whenClosed.then(() => {
      if (this.#openBrowser === openBrowser) this.#recordLossAndClose('The browser exited unexpectedly.');
    });
    void watchResources(
      () => browser.processes(),
      this.#options,
      watchStop.signal,
      (excess) => this.#enforceLimit(openBrowser, excess),
    );
    return openBrowser;
  }

  #recordLoss(reason: string): void {
    this.#loss ??= reason;
    this.#lossSignal?.abort();
  }

  async #enforceLimit(openBrowser: OpenBrowser, { reason, isHanging }: Excess): Promise<void> {
    if (this.#openBrowser !== openBrowser) return;
    const pages = openBrowser.pages.all;
    // If no page is open, the browser itself exceeds the limit.
    if (isHanging || pages.length === 0) this.#recordLossAndClose(`The browser was closed: ${reason}.`);
    else {
      this.#recordLoss(`${pages.length === 1 ? 'The page was' : 'All pages were'} closed: ${reason}.`);
      this.#closing = this.#closePages(openBrowser, pages);
    }
    await this.#closing;
  }

  /**
   * Stops the running script of the page; closes the page if that fails.
   * @param isBusy true if the page is known to be busy
   * @returns true if something was stopped
   */
  async #stopPage(pages: PageStack, page: Page, control: CDPSession, isBusy: boolean): Promise<boolean> {
    const openBrowser = this.#openBrowser;
    if (openBrowser === undefined || page.isClosed()) return false;
    const isAlive = () => succeedsInTime(control.send('Runtime.evaluate', { expression: '1' }));
    if (!isBusy && (await isAlive())) return false;
    await succeedsInTime(
      Promise.allSettled([control.send('Runtime.terminateExecution'), control.send('Page.stopLoading')]),
    );
    // If no script was running, the stop request terminates the first of these evaluations.
    if ((await isAlive()) || (await isAlive())) return true;
    pages.remove(page);
    this.#loss = 'The page stopped responding and was closed.';
    this.#closing = this.#closePages(openBrowser, [page]);
    await this.#closing;
    return true;
  }

  #failureOf(error: unknown, isLate: boolean, wasStuck: boolean): unknown {
    const loss = this.#takeLoss();
    const pageState = wasStuck
      ? 'Its scripts were stopped; the page is still open.'
      : 'The page is still open.';
    const consequence = loss === undefined ? pageState : `${loss} ${AFTER_LOSS}`;
    if (isLate)
      return new ToolError(
        `The call exceeded the time limit of ${this.#options.callTimeoutMs / 1000} s (--timeout-seconds) and was stopped. ${consequence}`,
      );
    const failure = toToolError(error);
    return wasStuck && failure instanceof ToolError
      ? new ToolError(`${failure.message} ${consequence}`)
      : failure;
  }

  #takeLoss(): string | undefined {
    const loss = this.#loss;
    this.#loss = undefined;
    return loss;
  }

  async #closePages(openBrowser: OpenBrowser, pages: readonly Page[]): Promise<void> {
    const closings = pages.map(async (page) => {
      const control = openBrowser.pages.controlOf(page).catch(() => undefined);
      openBrowser.pages.remove(page);
      // Terminates the page process even during a computation; closing alone may take longer.
      void control.then((each) => each?.send('Page.crash').catch(() => {}));
      await page.close();
    });
    if (await succeedsInTime(Promise.all(closings), 2 * RESPONSE_MS)) return;
    this.activity.addNote('The browser had to be closed too: cookies and storage are lost.');
    await this.#closeBrowser();
  }

  #recordLossAndClose(reason: string): void {
    this.#recordLoss(`${reason} Cookies and storage are lost.`);
    this.#closing = this.#closeBrowser();
  }

  async #closeBrowser(): Promise<void> {
    const openBrowser = this.#openBrowser;
    this.#openBrowser = undefined;
    openBrowser?.watchStop.abort();
    await openBrowser?.browser.close();
  }
}

const AFTER_LOSS = 'The next call starts with an empty page: call browser_navigate first.';

function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** Returns true if `work` succeeds within `ms`. */
async function succeedsInTime(work: Promise<unknown>, ms = RESPONSE_MS): Promise<boolean> {
  return await Promise.race([
    work.then(
      () => true,
      () => false,
    ),
    delay(ms, false, { ref: false }),
  ]);
}
