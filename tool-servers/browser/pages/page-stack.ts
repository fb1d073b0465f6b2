// The open pages of the session, the newest on top: that one is current, and all tools work on it. A page that a page
// opens goes on top, and when it closes, the one below is current again; so there is nothing to choose between.
//
// 1. There are at most MAX_PAGES; a page that would be one more is closed at once.
// 2. Dialogs are dismissed, downloads and file choosers are not served; the activity log says so.
// 3. What was neither opened as http(s) nor empty is not left open.

import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import type { ActivityLog } from './activity-log.ts';
import { ConsoleFlood, FLOOD } from './console-flood.ts';
import { type ConsoleLog, cut } from './console-log.ts';
import { ANNOUNCED_MS, PageProgress } from './page-progress.ts';

const MAX_PAGES = 4;
const MAX_NOTE_CHARS = 300;
const BROWSER_END_MS = 100;
/** `chrome-error:` is the browser's own page for what could not be loaded. */
const PAGE_SCHEMES = ['http:', 'https:', 'about:', 'blob:', 'data:', 'chrome-error:'];

export interface PageEvents {
  readonly activity: ActivityLog;
  readonly consoleLog: ConsoleLog;
  /** The page on top is gone, and nobody asked for it; the reason is a whole sentence. */
  readonly onLost: (reason: string) => void;
  /** A page takes more than it may of this program; the reason follows "closed:". */
  readonly onExcess: (reason: string) => void;
}

export class PageStack {
  readonly #context: BrowserContext;
  readonly #events: PageEvents;
  readonly #open = new Map<Page, PageProgress>();
  /** Until when each page that was announced may still come. */
  #awaitedUntilMs: number[] = [];

  constructor(context: BrowserContext, events: PageEvents) {
    this.#context = context;
    this.#events = events;
    context.on('page', (page) => this.#adopt(page));
    for (const page of context.pages()) this.#adopt(page);
  }

  get current(): Page | undefined {
    return [...this.#open.keys()].at(-1);
  }

  get all(): readonly Page[] {
    return [...this.#open.keys()];
  }

  /** A new empty page on top. */
  async open(): Promise<Page> {
    const page = await this.#context.newPage();
    this.#adopt(page);
    return page;
  }

  statusOf(page: Page): number | undefined {
    return this.#open.get(page)?.status;
  }

  /** Whether the current page is on its way to another, or another one is about to open. */
  get isMoving(): boolean {
    const now = performance.now();
    this.#awaitedUntilMs = this.#awaitedUntilMs.filter((until) => until > now);
    const progress = this.current && this.#open.get(this.current);
    return this.#awaitedUntilMs.length > 0 || progress?.isNavigating === true;
  }

  /** @throws Error when the page is gone */
  async controlOf(page: Page): Promise<CDPSession> {
    const progress = this.#open.get(page);
    if (progress === undefined) throw new Error('the page is gone');
    return await progress.control;
  }

  /** Forgets a page: what happens to it from now on is no loss. */
  drop(page: Page): void {
    this.#open.delete(page);
  }

  #adopt(page: Page): void {
    if (this.#open.has(page) || page.isClosed()) return;
    this.#awaitedUntilMs.shift();
    const { activity } = this.#events;
    if (this.#open.size >= MAX_PAGES) {
      activity.page(`A further page was not opened: ${MAX_PAGES} are open already.`);
      page.close().catch(() => {});
      return;
    }
    if (this.#open.size > 0)
      activity.page(
        'The page opened a new page, which is the current one now. browser_evaluate with "window.close()" goes back.',
      );
    const events = {
      onNavigated: (url: string) => this.#navigated(page, url),
      onOpening: () => {
        if (this.#awaitedUntilMs.length < MAX_PAGES)
          this.#awaitedUntilMs.push(performance.now() + ANNOUNCED_MS);
      },
    };
    this.#open.set(page, new PageProgress(page, this.#context, events));
    this.#listen(page);
  }

  #listen(page: Page): void {
    const { activity, consoleLog } = this.#events;
    const flood = new ConsoleFlood();
    const write = (level: string, text: string, place: string, atMs: number) => {
      // What is left to read of a page that is gone is nobody's news.
      if (!this.#open.has(page)) return;
      consoleLog.add(level, text, place);
      if (flood.add(text.length, atMs)) this.#events.onExcess(FLOOD);
    };
    page.on('console', (message) => {
      const { url, lineNumber, columnNumber } = message.location();
      const place = url && `${url}:${lineNumber + 1}:${columnNumber + 1}`;
      write(message.type(), message.text(), place, message.timestamp());
      // Each value that was written would be kept, here and in the page, as long as the page lives.
      for (const each of message.args()) each.dispose().catch(() => {});
    });
    page.on('pageerror', ({ name, message }) =>
      write('error', `Uncaught ${name}: ${message}`, '', Date.now()),
    );
    page.on('dialog', (dialog) => {
      const isLeaving = dialog.type() === 'beforeunload';
      if (!isLeaving) activity.dialog(`${dialog.type()}: ${cut(dialog.message(), MAX_NOTE_CHARS)}`);
      // A page that asks whether one really wants to leave it would keep the session for ever.
      (isLeaving ? dialog.accept() : dialog.dismiss()).catch(() => {});
    });
    page.on('download', (download) => {
      activity.download(
        `${cut(download.suggestedFilename(), MAX_NOTE_CHARS)} from ${cut(download.url(), MAX_NOTE_CHARS)}`,
      );
      download.cancel().catch(() => {});
    });
    page.on('filechooser', () => activity.page('The page asked for a file. Files cannot be given to pages.'));
    page.on('crash', () => this.#lose(page, 'The page crashed.'));
    page.on('close', () => this.#closed(page));
  }

  /** A page that closed without our doing. */
  #closed(page: Page): void {
    if (!this.#open.has(page)) return;
    const wasCurrent = this.current === page;
    this.drop(page);
    if (!wasCurrent) return;
    if (this.#open.size > 0) {
      this.#events.activity.page('The page closed itself; the page below is the current one again.');
      return;
    }
    // A browser that ends closes its pages first; that is told as what it is.
    setTimeout(() => {
      if (this.#context.browser()?.isConnected()) this.#events.onLost('The page was closed.');
    }, BROWSER_END_MS).unref();
  }

  #navigated(page: Page, url: string): void {
    this.#events.activity.navigated();
    const scheme = /^[a-z-]+:/.exec(url)?.[0] ?? '';
    if (url === '' || PAGE_SCHEMES.includes(scheme)) return;
    this.#lose(page, `The page was closed: it led to ${scheme}, and only http: and https: are served.`);
    page.close().catch(() => {});
  }

  #lose(page: Page, reason: string): void {
    const wasCurrent = this.current === page;
    this.drop(page);
    if (!page.isClosed()) page.close().catch(() => {});
    if (wasCurrent) this.#events.onLost(reason);
  }
}
