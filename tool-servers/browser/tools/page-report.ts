// How every tool that touches the page ends: where the browser is now, and what happened since the model was last told.

import { z } from 'zod';
import { cut } from '../pages/console-log.ts';
import type { Session } from '../session.ts';

const MAX_URL_CHARS = 2000;

export const pageReportSchema = z.object({
  url: z.string().describe('Where the current page is now'),
  title: z.string(),
  status: z.number().int().optional().describe('HTTP status that the page came with, where it came by HTTP'),
  navigated: z.boolean().describe('Whether a page was loaded, or its address changed, since the last call'),
  dialogs: z.array(z.string()).describe('alert, confirm and prompt dialogs; all were dismissed'),
  downloads: z.array(z.string()).describe('Downloads that the page began; none was saved'),
  refused: z.array(z.string()).describe('Connections of the page that are not allowed, and why'),
  notes: z.array(z.string()).describe('New pages, pages that were closed, and other news'),
  console_errors: z
    .number()
    .int()
    .describe('Errors on the console since the last call; console://logs has them'),
});

export type PageReport = z.infer<typeof pageReportSchema>;

/** Reads out the activity log, and where the page is; a page without life has no title. */
export async function reportOf(session: Session): Promise<PageReport> {
  const page = session.current;
  const { hasNavigated, ...happened } = session.activity.take();
  const title = page === undefined ? '' : await session.titleOf(page);
  const status = page === undefined ? undefined : session.statusOf(page);
  return {
    url: cut(page?.url() ?? 'about:blank', MAX_URL_CHARS),
    title,
    ...(status !== undefined && { status }),
    navigated: hasNavigated,
    ...happened,
    console_errors: session.consoleLog.takeErrors(),
  };
}

/** The report as text, one matter a line. */
export function reportText(report: PageReport): string {
  const { url, title, status, dialogs, downloads, refused, notes, console_errors } = report;
  const lines = [
    `Page: ${url}${title === '' ? '' : ` "${title}"`}${status === undefined ? '' : ` (HTTP ${status})`}`,
    ...notes,
    ...dialogs.map((dialog) => `Dialog, dismissed: ${dialog}`),
    ...downloads.map((download) => `Download, not saved: ${download}`),
    ...refused.map((line) => `Connection refused: ${line}`),
  ];
  if (console_errors > 0)
    lines.push(
      `Console: ${console_errors} error${console_errors === 1 ? '' : 's'} (resource console://logs)`,
    );
  return lines.join('\n');
}
