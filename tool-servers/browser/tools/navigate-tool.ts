// browser_navigate: loads an address. This tool checks only the address text; the proxy checks each
// connection.

import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { defineTool, type ServerTool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import { truncate } from '../pages/console-log.ts';
import { isTimeout, netReason } from '../pages/playwright-failure.ts';
import type { BrowserStep, Session } from '../session.ts';
import { pageReportSchema, reportOf, reportText } from './page-report.ts';

const MAX_URL_CHARS = 32_768;
/** Maximum wait for other resources, after the document has loaded. */
const LOAD_MS = 10_000;
/** The wait stops this long before the step's time limit, because an incomplete page is not a failure. */
const MARGIN_MS = 500;
const ERROR_PAGE_MS = 1_000;

export function navigateTool(session: Session): ServerTool {
  return defineTool({
    name: 'browser_navigate',
    title: 'Open a page',
    description:
      'Loads an http: or https: address in the current page and waits until it is loaded. Returns the final address, title and ' +
      'HTTP status; pages with an error status are loaded too. Private, loopback and link-local addresses are ' +
      'refused unless the server was started with --allow-private. Does not return the page content: use browser_snapshot, ' +
      'browser_screenshot or browser_evaluate next. Cookies and storage are kept until the server stops.',
    input: z.strictObject({
      url: z
        .string()
        .min(1)
        .max(MAX_URL_CHARS)
        .describe('Complete address, for example https://example.com/path'),
    }),
    output: pageReportSchema,
    hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    run: async ({ url }, call) => {
      const address = addressOf(url);
      const isLoaded = await session.step(call, (step) => loadPage(session, step, address), {
        canStartFresh: true,
      });
      const report = await reportOf(session);
      const note = isLoaded ? '' : '\nThe page is still loading; its current content is usable.';
      return { text: `${reportText(report)}${note}`, structured: report };
    },
  });
}

function addressOf(text: string): string {
  const address = text.trim();
  if (address === 'about:blank') return address;
  if (!URL.canParse(address))
    throw new ToolError(
      `${truncate(address, 200)} is not a complete address. Include the scheme, for example https://example.com/.`,
    );
  const { protocol, href } = new URL(address);
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new ToolError(`${protocol} addresses are not supported, only http:, https: and about:blank.`);
  return href;
}

/** Returns true if the page has loaded completely. */
async function loadPage(session: Session, step: BrowserStep, url: string): Promise<boolean> {
  const { page, signal, callTimeoutMs } = step;
  const deadlineMs = performance.now() + callTimeoutMs - MARGIN_MS;
  try {
    await navigateTo(page, url, callTimeoutMs, signal);
  } catch (error) {
    throw await toNavigationError(session, url, error, step);
  }
  assertLoaded(session, page);
  try {
    // Playwright treats 0 as no limit.
    const timeout = Math.max(1, Math.min(LOAD_MS, deadlineMs - performance.now()));
    await page.waitForLoadState('load', { timeout, signal });
    return true;
  } catch (error) {
    if (!isTimeout(error)) throw error;
    return false;
  }
}

async function navigateTo(page: Page, url: string, timeout: number, signal: AbortSignal): Promise<void> {
  const bounds = { waitUntil: 'domcontentloaded', timeout, signal } as const;
  for (let attempt = 1; ; attempt++) {
    try {
      await page.goto(url, bounds);
      return;
    } catch (error) {
      const otherUrl = /is interrupted by another navigation to "([^"]*)"/.exec(
        (error as Error).message,
      )?.[1];
      if (otherUrl === undefined || attempt === 3) throw error;
      // The browser still shows the error page of the previous address.
      if (otherUrl.startsWith('chrome-error:')) continue;
      // The page navigated by itself, for example by a script redirect.
      await page.waitForLoadState('domcontentloaded', { timeout, signal });
      return;
    }
  }
}

/** Throws a ToolError if a plain http response comes from the proxy, not from the server. */
function assertLoaded(session: Session, page: Page): void {
  const status = session.statusOf(page);
  if (status !== 403 && status !== 502) return;
  if (!page.url().startsWith('http:')) return;
  const failure = session.activity.failureOf(authorityOf(page.url()));
  if (failure !== undefined) throw new ToolError(failureText(truncate(page.url(), 300), failure));
}

/** Returns the authority as the proxy receives it. */
function authorityOf(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  return `${hostname}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;
}

function failureText(
  url: string,
  { authority, reason, isRefusal }: { authority: string; reason: string; isRefusal: boolean },
): string {
  const advice = isRefusal ? ' The operator can permit it by starting the server with --allow-private.' : '';
  return `${url} was not loaded: ${authority}: ${reason}.${/port/.test(reason) ? '' : advice}`;
}

async function toNavigationError(
  session: Session,
  url: string,
  error: unknown,
  { page, signal }: BrowserStep,
): Promise<unknown> {
  if (signal.aborted) return error;
  const shortUrl = truncate(url, 300);
  if (/Download is starting/.test((error as Error).message)) {
    // The download event arrives after the failure.
    for (let attempt = 0; attempt < 25 && !session.activity.hasDownload; attempt++) await delay(20);
    const { downloads } = session.activity.take();
    return new ToolError(
      `${shortUrl} is a download (${downloads.join(', ')}), not a page. Downloads are disabled: nothing was saved.`,
    );
  }
  const reason = netReason(error);
  if (reason === undefined) return error;
  // The browser's error page follows shortly and would interrupt the next navigation.
  await page.waitForURL(/^chrome-error:/, { timeout: ERROR_PAGE_MS, signal }).catch(() => {});
  const failure = session.activity.failureOf(authorityOf(url)) ?? session.activity.lastFailure();
  if (/ERR_(TUNNEL|PROXY)/.test((error as Error).message) && failure !== undefined)
    return new ToolError(failureText(shortUrl, failure));
  return new ToolError(`${shortUrl} was not loaded: ${reason}.`);
}
