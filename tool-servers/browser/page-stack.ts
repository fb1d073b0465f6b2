// The open pages of the session, the newest on top: that one is current, and all tools work on it. A page that a page
// opens goes on top, and when it closes, the one below is current again; so there is nothing to choose between.
//
// 1. There are at most MAX_PAGES; a page that would be one more is closed at once.
// 2. Dialogs are dismissed, downloads and file choosers are not served; the diary says so.
// 3. What was neither opened as http(s) nor empty is not left open.

import type { BrowserContext, CDPSession, Page, Request, Response } from 'playwright-core';
import { type ConsoleLog, cut } from './console-log.ts';
import type { Diary } from './diary.ts';

const MAX_PAGES = 4;
const MAX_NOTE_CHARS = 300;
const BROWSER_END_MS = 100;
/** `chrome-error:` is the browser's own page for what could not be loaded. */
const PAGE_SCHEMES = ['http:', 'https:', 'about:', 'blob:', 'data:', 'chrome-error:'];

interface PageState {
  /** Of the answer that the page came with. */
  status: number | undefined;
  isNavigating: boolean;
  /** A connection that also works while the page computes without end. */
  readonly control: Promise<CDPSession>;
}

export interface PageEvents {
  readonly diary: Diary;
  readonly consoleLog: ConsoleLog;
  /** The page on top is gone, and nobody asked for it; the reason is a whole sentence. */
  readonly onLost: (reason: string) => void;
}

export class PageStack {
  readonly #context: BrowserContext;
  readonly #events: PageEvents;
  readonly #states = new Map<Page, PageState>();

  constructor(context: BrowserContext, events: PageEvents) {
    this.#context = context;
    this.#events = events;
    context.on('page', (page) => this.#adopt(page));
    for (const page of context.pages()) this.#adopt(page);
  }

  get current(): Page | undefined {
    return [...this.#states.keys()].at(-1);
  }

  get all(): readonly Page[] {
    return [...this.#states.keys()];
  }

  /** A new empty page on top. */
  async open(): Promise<Page> {
    const page = await this.#context.newPage();
    this.#adopt(page);
    return page;
  }

  statusOf(page: Page): number | undefined {
    return this.#states.get(page)?.status;
  }

  isNavigating(page: Page): boolean {
    return this.#states.get(page)?.isNavigating ?? false;
  }

  /** @throws Error when the page is gone */
  async controlOf(page: Page): Promise<CDPSession> {
    const state = this.#states.get(page);
    if (state === undefined) throw new Error('the page is gone');
    return await state.control;
  }

  /** Forgets a page: what happens to it from now on is no loss. */
  drop(page: Page): void {
    this.#states.delete(page);
  }

  #adopt(page: Page): void {
    if (this.#states.has(page) || page.isClosed()) return;
    const { diary } = this.#events;
    if (this.#states.size >= MAX_PAGES) {
      diary.page(`A further page was not opened: ${MAX_PAGES} are open already.`);
      page.close().catch(() => {});
      return;
    }
    if (this.#states.size > 0)
      diary.page(
        'The page opened a new page, which is the current one now. browser_evaluate with "window.close()" goes back.',
      );
    const control = this.#control(page);
    control.catch(() => {});
    const state: PageState = { status: undefined, isNavigating: false, control };
    this.#states.set(page, state);
    this.#listen(page);
    this.#follow(page, state);
  }

  async #control(page: Page): Promise<CDPSession> {
    const control = await this.#context.newCDPSession(page);
    await control.send('Runtime.enable');
    return control;
  }

  #listen(page: Page): void {
    const { diary, consoleLog } = this.#events;
    page.on('console', (message) => {
      const { url, lineNumber, columnNumber } = message.location();
      consoleLog.add(message.type(), message.text(), url && `${url}:${lineNumber + 1}:${columnNumber + 1}`);
    });
    page.on('pageerror', (error) => consoleLog.add('error', `Uncaught ${error.name}: ${error.message}`, ''));
    page.on('dialog', (dialog) => {
      const isLeaving = dialog.type() === 'beforeunload';
      if (!isLeaving) diary.dialog(`${dialog.type()}: ${cut(dialog.message(), MAX_NOTE_CHARS)}`);
      // A page that asks whether one really wants to leave it would keep the session for ever.
      (isLeaving ? dialog.accept() : dialog.dismiss()).catch(() => {});
    });
    page.on('download', (download) => {
      diary.download(
        `${cut(download.suggestedFilename(), MAX_NOTE_CHARS)} from ${cut(download.url(), MAX_NOTE_CHARS)}`,
      );
      download.cancel().catch(() => {});
    });
    page.on('filechooser', () => diary.page('The page asked for a file. Files cannot be given to pages.'));
    page.on('crash', () => this.#lose(page, 'The page crashed.'));
    page.on('close', () => this.#closed(page));
  }

  /** A page that closed without our doing. */
  #closed(page: Page): void {
    if (!this.#states.has(page)) return;
    const wasCurrent = this.current === page;
    this.drop(page);
    if (!wasCurrent) return;
    if (this.#states.size > 0) {
      this.#events.diary.page('The page closed itself; the page below is the current one again.');
      return;
    }
    // A browser that ends closes its pages first; that is told as what it is.
    setTimeout(() => {
      if (this.#context.browser()?.isConnected()) this.#events.onLost('The page was closed.');
    }, BROWSER_END_MS).unref();
  }

  #follow(page: Page, state: PageState): void {
    const isOfPage = (request: Request) => {
      try {
        return request.isNavigationRequest() && request.frame() === page.mainFrame();
      } catch {
        // A request without a frame.
        return false;
      }
    };
    page.on('request', (request) => {
      if (isOfPage(request)) state.isNavigating = true;
    });
    page.on('requestfailed', (request) => {
      if (isOfPage(request)) state.isNavigating = false;
    });
    page.on('response', (response: Response) => {
      if (isOfPage(response.request())) state.status = response.status();
    });
    page.on('framenavigated', (frame) => {
      if (frame !== page.mainFrame()) return;
      state.isNavigating = false;
      this.#events.diary.navigated();
      const scheme = /^[a-z-]+:/.exec(frame.url())?.[0] ?? '';
      if (!frame.url().startsWith('http')) state.status = undefined;
      if (frame.url() === '' || PAGE_SCHEMES.includes(scheme)) return;
      this.#lose(page, `The page was closed: it led to ${scheme}, and only http: and https: are served.`);
      page.close().catch(() => {});
    });
  }

  #lose(page: Page, reason: string): void {
    const wasCurrent = this.current === page;
    this.drop(page);
    if (!page.isClosed()) page.close().catch(() => {});
    if (wasCurrent) this.#events.onLost(reason);
  }
}
