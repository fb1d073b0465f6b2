// Navigation state per page: HTTP status, and whether a navigation is in progress. Chromium announces
// navigations and new pages before their request or page exists; after a click, tools wait for announced
// effects.

import type { BrowserContext, CDPSession, Page, Request } from 'playwright-core';

/** Maximum wait for an announced effect. Some never happen, for example blocked popups. */
export const ANNOUNCED_MS = 1_500;

export interface ProgressEvents {
  /** The main frame has navigated. */
  readonly onNavigated: (url: string) => void;
  /** The page will open another page. */
  readonly onOpening: () => void;
}

export class PageProgress {
  /** DevTools protocol (CDP) connection. It also works during an endless script. */
  readonly control: Promise<CDPSession>;
  #status: number | undefined;
  #isRequesting = false;
  #announcementEndMs = 0;

  constructor(page: Page, context: BrowserContext, events: ProgressEvents) {
    this.control = this.#listen(page, context, events);
    this.control.catch(() => {});
    const isPageNavigation = (request: Request) => {
      try {
        return request.isNavigationRequest() && request.frame() === page.mainFrame();
      } catch {
        // The request has no frame.
        return false;
      }
    };
    page.on('request', (request) => {
      if (isPageNavigation(request)) this.#isRequesting = true;
    });
    page.on('requestfailed', (request) => {
      if (isPageNavigation(request)) this.#finishNavigation();
    });
    page.on('response', (response) => {
      if (isPageNavigation(response.request())) this.#status = response.status();
    });
    page.on('framenavigated', (frame) => {
      if (frame !== page.mainFrame()) return;
      this.#finishNavigation();
      if (!frame.url().startsWith('http')) this.#status = undefined;
      events.onNavigated(frame.url());
    });
  }

  /** HTTP status of the page, if it was loaded by HTTP. */
  get status(): number | undefined {
    return this.#status;
  }

  get isNavigating(): boolean {
    return this.#isRequesting || performance.now() < this.#announcementEndMs;
  }

  #finishNavigation(): void {
    this.#isRequesting = false;
    this.#announcementEndMs = 0;
  }

  async #listen(page: Page, context: BrowserContext, events: ProgressEvents): Promise<CDPSession> {
    const control = await context.newCDPSession(page);
    const { frameTree } = await control.send('Page.getFrameTree');
    control.on('Page.frameRequestedNavigation', ({ frameId, disposition }) => {
      if (frameId === frameTree.frame.id && disposition === 'currentTab')
        this.#announcementEndMs = performance.now() + ANNOUNCED_MS;
    });
    control.on('Page.windowOpen', () => events.onOpening());
    // Runtime.enable would send all console messages a second time, on this connection.
    await control.send('Page.enable');
    return control;
  }
}
