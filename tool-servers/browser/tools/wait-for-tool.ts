// browser_wait_for: blocks until an element or text appears or disappears, or for a fixed time.

import { setTimeout as delay } from 'node:timers/promises';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Locator } from 'playwright-core';
import { z } from 'zod';
import { defineTool, type ServerTool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import { isTimeout, toToolError } from '../pages/playwright-failure.ts';
import type { Session } from '../session.ts';
import { locatorOf, selectorSchema } from './element.ts';
import { pageReportSchema, reportOf, reportText } from './page-report.ts';

const DEFAULT_SECONDS = 10;
const MAX_SECONDS = 300;
const MAX_TEXT_CHARS = 1000;
/** The wait stops this long before the step's time limit. */
const MARGIN_MS = 500;

export function waitForTool(session: Session): ServerTool {
  return defineTool({
    name: 'browser_wait_for',
    title: 'Wait for the page',
    description:
      'Waits until an element that matches the selector, or a text, is visible on the page; with gone, until it ' +
      `is not visible. Without selector and text it waits for the given seconds. Timeout: ${DEFAULT_SECONDS} s unless seconds is ` +
      'set, limited by the call time limit of the server. A timeout is an error.',
    input: z.strictObject({
      selector: selectorSchema.optional(),
      text: z
        .string()
        .min(1)
        .max(MAX_TEXT_CHARS)
        .optional()
        .describe('Part of a text on the page, case-insensitive'),
      gone: z.boolean().optional().describe('Wait until it is not visible'),
      seconds: z.number().min(0).max(MAX_SECONDS).optional().describe('Maximum wait time in seconds'),
    }),
    output: pageReportSchema.extend({ waited_ms: z.number().int() }),
    hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    run: async ({ selector, text, gone = false, seconds }, call) => {
      if (selector !== undefined && text !== undefined)
        throw new ToolError('Pass either selector or text, not both.');
      if (selector === undefined && text === undefined && seconds === undefined)
        throw new ToolError('Pass a selector, a text, or a number of seconds.');
      const waitedMs = await session.step(
        call,
        async ({ page, signal, callTimeoutMs }) => {
          const startedMs = performance.now();
          const elapsedMs = () => Math.ceil(performance.now() - startedMs);
          const limitMs = Math.min((seconds ?? DEFAULT_SECONDS) * 1000, callTimeoutMs - MARGIN_MS);
          if (seconds !== undefined && seconds * 1000 > limitMs)
            throw new ToolError(
              `The time limit of a call is ${callTimeoutMs / 1000} s (--timeout-seconds): wait for less, then call again.`,
            );
          if (selector === undefined && text === undefined) {
            await delay(limitMs, undefined, { signal });
            return elapsedMs();
          }
          const all = selector === undefined ? page.getByText(text ?? '') : locatorOf(page, selector);
          const target = selector === undefined ? `the text ${JSON.stringify(text)}` : selector;
          await waitUntil(all.filter({ visible: true }).first(), gone, target, limitMs, signal);
          return elapsedMs();
        },
        { isReadOnly: true },
      );
      const report = await reportOf(session);
      return {
        text: `Waited ${(waitedMs / 1000).toFixed(1)} s.\n${reportText(report)}`,
        structured: { ...report, waited_ms: waitedMs },
      };
    },
  });
}

/**
 * Renames the argument `time` to `seconds`, because similar servers use `time`. If both are present, the
 * message is unchanged and the schema rejects `time`.
 */
export function renameTimeArgument(message: JSONRPCMessage): JSONRPCMessage {
  if (!('method' in message) || message.method !== 'tools/call') return message;
  const { name, arguments: input } = message.params ?? {};
  if (name !== 'browser_wait_for' || typeof input !== 'object' || input === null) return message;
  if (!Object.hasOwn(input, 'time') || Object.hasOwn(input, 'seconds')) return message;
  const renamed = Object.entries(input).map(([key, value]) => [key === 'time' ? 'seconds' : key, value]);
  return { ...message, params: { ...message.params, arguments: Object.fromEntries(renamed) } };
}

async function waitUntil(
  locator: Locator,
  isGone: boolean,
  target: string,
  limitMs: number,
  signal: AbortSignal,
): Promise<void> {
  try {
    // Playwright treats 0 as no limit.
    await locator.waitFor({ state: isGone ? 'hidden' : 'visible', timeout: Math.max(1, limitMs), signal });
  } catch (error) {
    if (!isTimeout(error)) throw toToolError(error);
    throw new ToolError(
      isGone
        ? `${target} is still on the page after ${limitMs / 1000} s.`
        : `${target} did not appear on the page within ${limitMs / 1000} s. browser_snapshot shows what is there.`,
    );
  }
}
