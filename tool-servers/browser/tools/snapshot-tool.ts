// browser_snapshot: what is on the page as text, for models that read better than they see.

import { z } from 'zod';
import { defineTool, type Tool } from '../../tool.ts';
import type { Session } from '../session.ts';
import { findElement, selectorSchema } from './element.ts';
import { pageReportSchema, reportOf, reportText } from './page-report.ts';

const MAX_SNAPSHOT_CHARS = 50_000;
const MAX_DEPTH = 50;

/** `browser_snapshot`. */
export function snapshotTool(session: Session): Tool {
  return defineTool({
    name: 'browser_snapshot',
    title: 'Read the page',
    description:
      'Returns the accessibility tree of the current page as text: headings, text, links, buttons and fields with their ' +
      'names, values and states, frames included. Each element that can be used has a reference such as [ref=e12]; give ' +
      `ref=e12 as the selector of the other tools. Cut at ${MAX_SNAPSHOT_CHARS} characters: take a selector or a depth for ` +
      'less. References hold until the page changes them. Usually the best way to see what to do next.',
    input: z.strictObject({
      selector: selectorSchema.optional(),
      depth: z
        .number()
        .int()
        .min(1)
        .max(MAX_DEPTH)
        .optional()
        .describe('How many levels deep; all when left out'),
    }),
    output: pageReportSchema.extend({
      snapshot: z.string().describe('The tree as indented text'),
      is_cut: z.boolean().describe('Whether the page has more than this'),
    }),
    hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    run: async ({ selector, depth }, call) => {
      const whole = await session.step(
        call,
        async (step) => {
          const { page, signal, stepMs } = step;
          const how = { mode: 'ai', signal, timeout: stepMs, ...(depth !== undefined && { depth }) } as const;
          if (selector === undefined) return await page.ariaSnapshot(how);
          const { locator } = await findElement(step, selector);
          return await locator.ariaSnapshot(how);
        },
        { isLook: true },
      );
      const isCut = whole.length > MAX_SNAPSHOT_CHARS;
      const snapshot = isCut ? wholeLines(whole) : whole;
      const report = await reportOf(session);
      const rest = isCut
        ? `\n(cut: ${whole.length - snapshot.length} more characters; give a selector or a depth)`
        : '';
      return {
        text: `${reportText(report)}\n\n${snapshot === '' ? '(an empty page)' : snapshot}${rest}`,
        structured: { ...report, snapshot, is_cut: isCut },
      };
    },
  });
}

function wholeLines(text: string): string {
  const end = text.lastIndexOf('\n', MAX_SNAPSHOT_CHARS);
  return text.slice(0, end === -1 ? MAX_SNAPSHOT_CHARS : end);
}
