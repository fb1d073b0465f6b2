// browser_snapshot: the page content as text for models.

import { z } from 'zod';
import { defineTool, type ServerTool } from '../../tool.ts';
import type { Session } from '../session.ts';
import { findElement, selectorSchema } from './element.ts';
import { pageReportSchema, reportOf, reportText } from './page-report.ts';

const MAX_SNAPSHOT_CHARS = 50_000;
const MAX_DEPTH = 50;

export function snapshotTool(session: Session): ServerTool {
  return defineTool({
    name: 'browser_snapshot',
    title: 'Read the page',
    description:
      'Returns the accessibility tree of the current page as text: headings, text, links, buttons and fields with their ' +
      'names, values and states, including frames. Each usable element has a reference such as [ref=e12]; pass ' +
      `ref=e12 as the selector of the other tools. Truncated at ${MAX_SNAPSHOT_CHARS} characters: pass a selector or a depth for ` +
      'less. References are valid until the page changes. Usually the best basis for the next action.',
    input: z.strictObject({
      selector: selectorSchema.optional(),
      depth: z.number().int().min(1).max(MAX_DEPTH).optional().describe('Maximum depth. Default: unlimited'),
    }),
    output: pageReportSchema.extend({
      snapshot: z.string().describe('Accessibility tree as indented text'),
      is_cut: z.boolean().describe('True if the snapshot was truncated'),
    }),
    hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    run: async ({ selector, depth }, call) => {
      const fullSnapshot = await session.step(
        call,
        async (step) => {
          const { page, signal, callTimeoutMs } = step;
          const options = {
            mode: 'ai',
            signal,
            timeout: callTimeoutMs,
            ...(depth !== undefined && { depth }),
          } as const;
          if (selector === undefined) return await page.ariaSnapshot(options);
          const { locator } = await findElement(step, selector);
          return await locator.ariaSnapshot(options);
        },
        { isReadOnly: true },
      );
      const isCut = fullSnapshot.length > MAX_SNAPSHOT_CHARS;
      const snapshot = isCut ? truncateToLine(fullSnapshot) : fullSnapshot;
      const report = await reportOf(session);
      const rest = isCut
        ? `\n(truncated: ${fullSnapshot.length - snapshot.length} more characters; pass a selector or a depth)`
        : '';
      return {
        text: `${reportText(report)}\n\n${snapshot === '' ? '(an empty page)' : snapshot}${rest}`,
        structured: { ...report, snapshot, is_cut: isCut },
      };
    },
  });
}

function truncateToLine(text: string): string {
  const end = text.lastIndexOf('\n', MAX_SNAPSHOT_CHARS);
  return text.slice(0, end === -1 ? MAX_SNAPSHOT_CHARS : end);
}
