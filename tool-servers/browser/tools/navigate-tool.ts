// browser_navigate: loads an address. What it refuses by itself is only what the address says; where a connection may go
// is decided by the proxy, which sees every one of them.

import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { defineTool, type Tool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import { cut } from '../pages/console-log.ts';
import { isTimeout, netReason } from '../pages/playwright-failure.ts';
import type { Session, Step } from '../session.ts';
import { pageReportSchema, reportOf, reportText } from './page-report.ts';

const MAX_URL_CHARS = 32_768;
/** How long a page whose text is there may go on loading pictures and the like. */
const LOAD_MS = 10_000;
/** What the step needs besides, so that a page that is there but not complete is no failure. */
const MARGIN_MS = 500;
const ERROR_PAGE_MS = 1_000;

/** `browser_navigate`. */
export function navigateTool(session: Session): Tool {
  return defineTool({
    name: 'browser_navigate',
    title: 'Open a page',
    description:
      'Loads an http: or https: address in the current page and waits until it is loaded. Says the final address, title and ' +
      'HTTP status; a page with an error status is loaded like any other. Private, loopback and link-local addresses are ' +
      'refused unless the server was started with --allow-private. Does not return what is on the page: use browser_snapshot, ' +
      'browser_screenshot or browser_evaluate next. Cookies and storage last until the server ends.',
    input: z.strictObject({
      url: z
        .string()
        .min(1)
        .max(MAX_URL_CHARS)
        .describe('The whole address, such as https://example.com/path'),
    }),
    output: pageReportSchema,
    hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    run: async ({ url }, call) => {
      const address = addressOf(url);
      const isLoaded = await session.step(call, (step) => open(session, step, address), { isFresh: true });
      const report = await reportOf(session);
      const note = isLoaded ? '' : '\nThe page is still loading; what is there can be used.';
      return { text: `${reportText(report)}${note}`, structured: report };
    },
  });
}

function addressOf(text: string): string {
  const trimmed = text.trim();
  if (trimmed === 'about:blank') return trimmed;
  if (!URL.canParse(trimmed))
    throw new ToolError(
      `${cut(trimmed, 200)} is no whole address. Write it with its scheme, such as https://example.com/.`,
    );
  const { protocol, href } = new URL(trimmed);
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new ToolError(`${protocol} addresses are not opened, only http: and https: (and about:blank).`);
  return href;
}

/** Whether the page is loaded to its end. */
async function open(session: Session, step: Step, url: string): Promise<boolean> {
  const { page, signal, stepMs } = step;
  const deadlineMs = performance.now() + stepMs - MARGIN_MS;
  try {
    await go(page, url, stepMs, signal);
  } catch (error) {
    throw await explain(session, url, error, step);
  }
  checkAnswer(session, page);
  try {
    // A limit of 0 would be none.
    const timeout = Math.max(1, Math.min(LOAD_MS, deadlineMs - performance.now()));
    await page.waitForLoadState('load', { timeout, signal });
    return true;
  } catch (error) {
    if (!isTimeout(error)) throw error;
    return false;
  }
}

async function go(page: Page, url: string, timeout: number, signal: AbortSignal): Promise<void> {
  const bounds = { waitUntil: 'domcontentloaded', timeout, signal } as const;
  for (let attempt = 1; ; attempt++) {
    try {
      await page.goto(url, bounds);
      return;
    } catch (error) {
      const other = /is interrupted by another navigation to "([^"]*)"/.exec((error as Error).message)?.[1];
      if (other === undefined || attempt === 3) throw error;
      // The browser still puts up its error page for the address before this one.
      if (other.startsWith('chrome-error:')) continue;
      // The page went elsewhere by itself, as pages with a redirect in their script do.
      await page.waitForLoadState('domcontentloaded', { timeout, signal });
      return;
    }
  }
}

/** The proxy answers in place of a server over plain http; that answer is no page. */
function checkAnswer(session: Session, page: Page): void {
  const status = session.statusOf(page);
  if (status !== 403 && status !== 502) return;
  if (!page.url().startsWith('http:')) return;
  const trouble = session.activity.troubleOf(authorityOf(page.url()));
  if (trouble !== undefined) throw new ToolError(troubleText(cut(page.url(), 300), trouble));
}

/** As the proxy is told it. */
function authorityOf(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  return `${hostname}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;
}

function troubleText(
  url: string,
  { authority, reason, isRefusal }: { authority: string; reason: string; isRefusal: boolean },
): string {
  const end = isRefusal
    ? ' Only an operator can allow that, by starting the server with --allow-private.'
    : '';
  return `${url} was not loaded: ${authority}: ${reason}.${/port/.test(reason) ? '' : end}`;
}

async function explain(
  session: Session,
  url: string,
  error: unknown,
  { page, signal }: Step,
): Promise<unknown> {
  if (signal.aborted) return error;
  const shown = cut(url, 300);
  if (/Download is starting/.test((error as Error).message)) {
    // It is announced after the failure that it causes.
    for (let waited = 0; waited < 25 && !session.activity.hasDownload; waited++) await delay(20);
    const { downloads } = session.activity.take();
    return new ToolError(
      `${shown} is a download (${downloads.join(', ')}), no page. Downloads are off: nothing was saved.`,
    );
  }
  const reason = netReason(error);
  if (reason === undefined) return error;
  // The browser's own page for the failure comes a moment later, and would break off the next navigation.
  await page.waitForURL(/^chrome-error:/, { timeout: ERROR_PAGE_MS, signal }).catch(() => {});
  const trouble = session.activity.troubleOf(authorityOf(url)) ?? session.activity.lastTrouble();
  if (/ERR_(TUNNEL|PROXY)/.test((error as Error).message) && trouble !== undefined)
    return new ToolError(troubleText(shown, trouble));
  return new ToolError(`${shown} was not loaded: ${reason}.`);
}
