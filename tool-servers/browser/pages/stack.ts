// Open pages of the session. All tools use the newest page. When it closes, the previous page becomes
// current, so tools have no page parameter.
//
// 1. At most MAX_PAGES pages are open; further pages are closed immediately.
// 2. Dialogs are dismissed; downloads and file choosers are canceled. The activity log reports them.
// 3. A page that navigates to a scheme outside PAGE_SCHEMES is closed.

import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import type { ActivityLog } from './activity-log.ts';
import { ConsoleFlood, FLOOD_REASON } from './console-flood.ts';
import { type ConsoleLog, truncate } from './console-log.ts';
import { ANNOUNCED_MS, PageProgress } from './progress.ts';

const MAX_PAGES = 4;
const MAX_NOTE_CHARS = 300;
/** An exiting browser closes its pages up to this long before it disconnects. */
const BROWSER_END_MS = 100;
/** `chrome-error:` is the error page of the browser. */
const PAGE_SCHEMES = ['http:', 'https:', 'about:', 'blob:', 'data:', 'chrome-error:'];

export interface PageEvents {
  readonly activity: ActivityLog;
  readonly consoleLog: ConsoleLog;
  /** The current page crashed or closed unexpectedly. `reason` is a sentence. */
  readonly onLost: (reason: string) => void;
  /** A page exceeds a limit of this process. `reason` completes "The page was closed: …". */
  readonly onExcess: (reason: string) => void;
}

export class PageStack {
  readonly #context: BrowserContext;
  readonly #events: PageEvents;
  readonly #pages = new Map<Page, PageProgress>();
  /** Deadlines for pages that a page has announced by `window.open` and that are not open yet. */
  #announcementEndsMs: number[] = [];

  constructor(context: BrowserContext, events: PageEvents) {
    this.#context = context;
    this.#events = events;
    context.on('page', (page) => this.#add(page));
    for (const page of context.pages()) this.#add(page);
  }

  get current(): Page | undefined {
    return [...this.#pages.keys()].at(-1);
  }

  get all(): readonly Page[] {
    return [...this.#pages.keys()];
  }

  /** Opens a new empty page. */
  async open(): Promise<Page> {
    const page = await this.#context.newPage();
    this.#add(page);
    return page;
  }

  statusOf(page: Page): number | undefined {
    return this.#pages.get(page)?.status;
  }

  /** True if the current page is navigating or another page is opening. */
  get isMoving(): boolean {
    const now = performance.now();
    this.#announcementEndsMs = this.#announcementEndsMs.filter((until) => until > now);
    const progress = this.current && this.#pages.get(this.current);
    return this.#announcementEndsMs.length > 0 || progress?.isNavigating === true;
  }

  /** Returns the page's CDP connection. Throws an Error if the page was removed. */
  async controlOf(page: Page): Promise<CDPSession> {
    const progress = this.#pages.get(page);
    if (progress === undefined) throw new Error('the page was removed');
    return await progress.control;
  }

  /** Removes a page. Its later events are ignored. */
  remove(page: Page): void {
    this.#pages.delete(page);
  }

  #add(page: Page): void {
    if (this.#pages.has(page) || page.isClosed()) return;
    this.#announcementEndsMs.shift();
    const { activity } = this.#events;
    if (this.#pages.size >= MAX_PAGES) {
      activity.addNote(`A new page was closed: the limit of ${MAX_PAGES} open pages is reached.`);
      page.close().catch(() => {});
      return;
    }
    if (this.#pages.size > 0)
      activity.addNote(
        'The page opened a new page, which is now current. Use browser_evaluate with "window.close()" to return.',
      );
    const events = {
      onNavigated: (url: string) => this.#handleNavigation(page, url),
      onOpening: () => {
        if (this.#announcementEndsMs.length < MAX_PAGES)
          this.#announcementEndsMs.push(performance.now() + ANNOUNCED_MS);
      },
    };
    this.#pages.set(page, new PageProgress(page, this.#context, events));
    this.#listen(page);
  }

  #listen(page: Page): void {
    const { activity, consoleLog } = this.#events;
    const flood = new ConsoleFlood();
    const write = (level: string, text: string, location: string, atMs: number) => {
      // Ignores remaining messages from removed pages.
      if (!this.#pages.has(page)) return;
      consoleLog.add(level, text, location);
      if (flood.add(text.length, atMs)) this.#events.onExcess(FLOOD_REASON);
    };
    page.on('console', (message) => {
      const { url, lineNumber, columnNumber } = message.location();
      const location = url && `${url}:${lineNumber + 1}:${columnNumber + 1}`;
      write(message.type(), message.text(), location, message.timestamp());
      // Releases the logged values; otherwise they use memory until the page closes.
      for (const each of message.args()) each.dispose().catch(() => {});
    });
    page.on('pageerror', ({ name, message }) =>
      write('error', `Uncaught ${name}: ${message}`, '', Date.now()),
    );
    page.on('dialog', (dialog) => {
      const isLeaving = dialog.type() === 'beforeunload';
      if (!isLeaving) activity.addDialog(`${dialog.type()}: ${truncate(dialog.message(), MAX_NOTE_CHARS)}`);
      // A "Leave site?" dialog must not block the session.
      (isLeaving ? dialog.accept() : dialog.dismiss()).catch(() => {});
    });
    page.on('download', (download) => {
      activity.addDownload(
        `${truncate(download.suggestedFilename(), MAX_NOTE_CHARS)} from ${truncate(download.url(), MAX_NOTE_CHARS)}`,
      );
      download.cancel().catch(() => {});
    });
    page.on('filechooser', () =>
      activity.addNote('The page requested a file upload. Uploads are not supported.'),
    );
    page.on('crash', () => this.#removeLost(page, 'The page crashed.'));
    page.on('close', () => this.#handleClose(page));
  }

  /** Handles the `close` event; ignores a page that was removed before. */
  #handleClose(page: Page): void {
    if (!this.#pages.has(page)) return;
    const wasCurrent = this.current === page;
    this.remove(page);
    if (!wasCurrent) return;
    if (this.#pages.size > 0) {
      this.#events.activity.addNote('The page closed itself; the previous page is current again.');
      return;
    }
    // An exiting browser closes its pages first; session.ts reports its exit.
    setTimeout(() => {
      if (this.#context.browser()?.isConnected()) this.#events.onLost('The page was closed.');
    }, BROWSER_END_MS).unref();
  }

  #handleNavigation(page: Page, url: string): void {
    this.#events.activity.addNavigation();
    const scheme = /^[a-z-]+:/.exec(url)?.[0] ?? '';
    if (url === '' || PAGE_SCHEMES.includes(scheme)) return;
    this.#removeLost(
      page,
      `The page was closed: it navigated to ${scheme}, but only http: and https: are supported.`,
    );
    page.close().catch(() => {});
  }

  #removeLost(page: Page, reason: string): void {
    const wasCurrent = this.current === page;
    this.remove(page);
    if (!page.isClosed()) page.close().catch(() => {});
    if (wasCurrent) this.#events.onLost(reason);
  }
}
