// How far one page is: the status it came with, and whether it is on its way to another. That a navigation or a new page
// begins is announced by the page itself, before there is a request or a page to see; so nobody has to guess how long to
// wait after a click.

import type { BrowserContext, CDPSession, Page, Request } from 'playwright-core';

/** How long what was announced may take to be seen; it may also come to nothing, such as a popup that is blocked. */
export const ANNOUNCED_MS = 1_500;

export interface ProgressEvents {
  /** The main frame is somewhere else now. */
  readonly onNavigated: (url: string) => void;
  /** The page is about to open another one. */
  readonly onOpening: () => void;
}

export class PageProgress {
  /** A connection that also works while the page computes without end. */
  readonly control: Promise<CDPSession>;
  #status: number | undefined;
  #isRequesting = false;
  #announcedUntilMs = 0;

  constructor(page: Page, context: BrowserContext, events: ProgressEvents) {
    this.control = this.#listen(page, context, events);
    this.control.catch(() => {});
    const isOfPage = (request: Request) => {
      try {
        return request.isNavigationRequest() && request.frame() === page.mainFrame();
      } catch {
        // A request without a frame.
        return false;
      }
    };
    page.on('request', (request) => {
      if (isOfPage(request)) this.#isRequesting = true;
    });
    page.on('requestfailed', (request) => {
      if (isOfPage(request)) this.#arrive();
    });
    page.on('response', (response) => {
      if (isOfPage(response.request())) this.#status = response.status();
    });
    page.on('framenavigated', (frame) => {
      if (frame !== page.mainFrame()) return;
      this.#arrive();
      if (!frame.url().startsWith('http')) this.#status = undefined;
      events.onNavigated(frame.url());
    });
  }

  /** HTTP status of the answer that the page came with, if it came by HTTP. */
  get status(): number | undefined {
    return this.#status;
  }

  get isNavigating(): boolean {
    return this.#isRequesting || performance.now() < this.#announcedUntilMs;
  }

  #arrive(): void {
    this.#isRequesting = false;
    this.#announcedUntilMs = 0;
  }

  async #listen(page: Page, context: BrowserContext, events: ProgressEvents): Promise<CDPSession> {
    const control = await context.newCDPSession(page);
    const { frameTree } = await control.send('Page.getFrameTree');
    control.on('Page.frameRequestedNavigation', ({ frameId, disposition }) => {
      if (frameId === frameTree.frame.id && disposition === 'currentTab')
        this.#announcedUntilMs = performance.now() + ANNOUNCED_MS;
    });
    control.on('Page.windowOpen', () => events.onOpening());
    // Not Runtime.enable: it would send all that is written to the console a second time, on this connection.
    await control.send('Page.enable');
    return control;
  }
}
