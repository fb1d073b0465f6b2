// browser_wait_for: until something is on the page, or no longer, or some time has passed.

import { setTimeout as delay } from 'node:timers/promises';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Locator } from 'playwright-core';
import { z } from 'zod';
import { defineTool, type Tool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import { failureOf, isTimeout } from '../pages/playwright-failure.ts';
import type { Session } from '../session.ts';
import { locatorOf, selectorSchema } from './element.ts';
import { pageReportSchema, reportOf, reportText } from './page-report.ts';

const DEFAULT_SECONDS = 10;
const MAX_SECONDS = 300;
const MAX_TEXT_CHARS = 1000;
/** What the step needs besides the waiting. */
const MARGIN_MS = 500;

/** `browser_wait_for`. */
export function waitForTool(session: Session): Tool {
  return defineTool({
    name: 'browser_wait_for',
    title: 'Wait for the page',
    description:
      'Waits until an element matches the selector and is visible, or until a text can be seen on the page; with gone until ' +
      `it is no longer so. Without both it waits for the given seconds. At most ${DEFAULT_SECONDS} s unless seconds says ` +
      'otherwise, and never beyond the time limit of the server for one call. What does not happen in time is an error.',
    input: z.strictObject({
      selector: selectorSchema.optional(),
      text: z
        .string()
        .min(1)
        .max(MAX_TEXT_CHARS)
        .optional()
        .describe('Part of a text on the page; case does not matter'),
      gone: z.boolean().optional().describe('Wait until it is not visible (any more)'),
      seconds: z.number().min(0).max(MAX_SECONDS).optional().describe('How long to wait at most'),
    }),
    output: pageReportSchema.extend({ waited_ms: z.number().int() }),
    hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    run: async ({ selector, text, gone = false, seconds }, call) => {
      if (selector !== undefined && text !== undefined)
        throw new ToolError('Give either a selector or a text to wait for, not both.');
      if (selector === undefined && text === undefined && seconds === undefined)
        throw new ToolError('Say what to wait for: a selector, a text, or a number of seconds.');
      const waitedMs = await session.step(
        call,
        async ({ page, signal, stepMs }) => {
          const startedMs = performance.now();
          const waited = () => Math.ceil(performance.now() - startedMs);
          const limitMs = Math.min((seconds ?? DEFAULT_SECONDS) * 1000, stepMs - MARGIN_MS);
          if (seconds !== undefined && seconds * 1000 > limitMs)
            throw new ToolError(
              `A call may take ${stepMs / 1000} s here (--timeout-seconds): wait for less, and call again.`,
            );
          if (selector === undefined && text === undefined) {
            await delay(limitMs, undefined, { signal });
            return waited();
          }
          const all = selector === undefined ? page.getByText(text ?? '') : locatorOf(page, selector);
          const what = selector === undefined ? `the text ${JSON.stringify(text)}` : selector;
          await waitUntil(all.filter({ visible: true }).first(), gone, what, limitMs, signal);
          return waited();
        },
        { isLook: true },
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
 * `message`, with `time` of a wait under its published name: other servers of this kind call it so. Where both are given
 * nothing is changed, and the schema refuses the unknown one.
 */
export function withPublishedWait(message: JSONRPCMessage): JSONRPCMessage {
  if (!('method' in message) || message.method !== 'tools/call') return message;
  const { name, arguments: given } = message.params ?? {};
  if (name !== 'browser_wait_for' || typeof given !== 'object' || given === null) return message;
  if (!Object.hasOwn(given, 'time') || Object.hasOwn(given, 'seconds')) return message;
  const published = Object.entries(given).map(([key, value]) => [key === 'time' ? 'seconds' : key, value]);
  return { ...message, params: { ...message.params, arguments: Object.fromEntries(published) } };
}

async function waitUntil(
  wanted: Locator,
  isGone: boolean,
  what: string,
  limitMs: number,
  signal: AbortSignal,
): Promise<void> {
  try {
    // A limit of 0 would be none.
    await wanted.waitFor({ state: isGone ? 'hidden' : 'visible', timeout: Math.max(1, limitMs), signal });
  } catch (error) {
    if (!isTimeout(error)) throw failureOf(error);
    throw new ToolError(
      isGone
        ? `${what} is still on the page after ${limitMs / 1000} s.`
        : `${what} did not appear on the page within ${limitMs / 1000} s. browser_snapshot shows what is there.`,
    );
  }
}
