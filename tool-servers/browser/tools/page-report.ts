// Report in each tool result: the current page, and the events since the last report.

import { z } from 'zod';
import { truncate } from '../pages/console-log.ts';
import type { Session } from '../session.ts';

const MAX_URL_CHARS = 2000;

export const pageReportSchema = z.object({
  url: z.string().describe('Address of the current page'),
  title: z.string(),
  status: z.number().int().optional().describe('HTTP status of the page, if it was loaded by HTTP'),
  navigated: z.boolean().describe('True if a page was loaded or its address changed since the last call'),
  dialogs: z.array(z.string()).describe('alert, confirm and prompt dialogs; all were dismissed'),
  downloads: z.array(z.string()).describe('Downloads that the page started; none was saved'),
  refused: z.array(z.string()).describe('Refused connections of the page, with reasons'),
  notes: z.array(z.string()).describe('New pages, closed pages, and other events'),
  console_errors: z
    .number()
    .int()
    .describe('Number of console errors since the last call; see console://logs'),
});

export type PageReport = z.infer<typeof pageReportSchema>;

/** Returns the report and clears the activity log. The title is empty if the page does not respond. */
export async function reportOf(session: Session): Promise<PageReport> {
  const page = session.current;
  const { hasNavigated, ...activity } = session.activity.take();
  const title = page === undefined ? '' : await session.titleOf(page);
  const status = page === undefined ? undefined : session.statusOf(page);
  return {
    url: truncate(page?.url() ?? 'about:blank', MAX_URL_CHARS),
    title,
    ...(status !== undefined && { status }),
    navigated: hasNavigated,
    ...activity,
    console_errors: session.consoleLog.takeErrors(),
  };
}

/** Formats the report as text, one item per line. */
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
