// browser_evaluate: a script of the model's in the page, and what it gives as JSON text.
//
// 1. The script runs in the page and nowhere else; whether it is an expression, statements or the body of a function is
//    found out by compiling it in the page, without running it.
// 2. What comes back is bounded in the page already. 3. A script without end is ended at the step's time limit.

import { setTimeout as delay } from 'node:timers/promises';
import type { CDPSession } from 'playwright-core';
import { z } from 'zod';
import { defineTool, type Tool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import { cut, lineOf } from '../pages/console-log.ts';
import { RESULT_TEXT } from '../pages/result-text.ts';
import type { Session } from '../session.ts';
import { pageReportSchema, reportOf, reportText } from './page-report.ts';

const MAX_SCRIPT_CHARS = 100_000;
const MAX_RESULT_CHARS = 50_000;
const MAX_ERROR_CHARS = 2_000;
const MAX_CONSOLE_LINES = 20;
const MAX_CONSOLE_CHARS = 500;

/** `browser_evaluate`. */
export function evaluateTool(session: Session): Tool {
  return defineTool({
    name: 'browser_evaluate',
    title: 'Run JavaScript in the page',
    description:
      "Runs JavaScript in the main frame of the current page, with the page's own rights, and returns the result as JSON. " +
      'Takes an expression (document.title), statements with return (const a = 1; return a;), statements whose last value ' +
      'counts, or a function (() => location.href); await works everywhere. Elements come back as short HTML, cycles and ' +
      `functions as marks; a result beyond ${MAX_RESULT_CHARS} characters is cut. Also returns what was written to the ` +
      'console meanwhile. Runs in the page only: no file system, no Node.js. Ended at the time limit of the server.',
    input: z.strictObject({
      script: z.string().min(1).max(MAX_SCRIPT_CHARS).describe('JavaScript for the page'),
    }),
    output: pageReportSchema.extend({
      result: z.string().describe('JSON text; "undefined" when there is no result'),
      console: z.array(z.string()).describe('Lines of the console while the script ran, the newest of them'),
    }),
    hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    run: async ({ script }, call) => {
      const seen = session.consoleLog.written;
      const result = await session.step(call, async ({ control, page }) => {
        try {
          return await evaluate(control, script);
        } catch (error) {
          if (error instanceof ToolError) throw error;
          return await endOfPage(error, () => page.isClosed() && session.current !== undefined);
        }
      });
      const written = session.consoleLog.since(seen).slice(-MAX_CONSOLE_LINES);
      const lines = written.map((entry) => cut(lineOf(entry), MAX_CONSOLE_CHARS));
      const report = await reportOf(session);
      const said = lines.length === 0 ? '' : `\nConsole:\n${lines.join('\n')}`;
      return {
        text: `Result: ${result}${said}\n${reportText(report)}`,
        structured: { ...report, result, console: lines },
      };
    },
  });
}

/** A script that made its page go elsewhere, or closed it, did what it was to do; it only has no result. */
async function endOfPage(error: unknown, hasClosedItself: () => boolean): Promise<string> {
  const { message } = error as Error;
  if (
    /Inspected target navigated|Execution context was destroyed|Cannot find (default execution )?context/i.test(
      message,
    )
  )
    return 'undefined (the page went elsewhere before the script gave a result)';
  for (let waited = 0; waited < 10 && !hasClosedItself(); waited++) await delay(20);
  if (hasClosedItself()) return 'undefined (the script closed the page)';
  throw error;
}

async function evaluate(control: CDPSession, script: string): Promise<string> {
  const { expression, replMode } = await readingOf(control, script);
  const { result, exceptionDetails } = await control.send('Runtime.evaluate', {
    expression,
    replMode,
    awaitPromise: true,
    userGesture: true,
    objectGroup: 'script',
  });
  if (exceptionDetails !== undefined) throw scriptError(exceptionDetails);
  if (!replMode) return String(result.value);
  return await textOf(control, result);
}

type RemoteObject = { type: string; value?: unknown; objectId?: string; unserializableValue?: string };

/** The value that is still in the page, as text. */
async function textOf(control: CDPSession, remote: RemoteObject): Promise<string> {
  const { objectId, value, unserializableValue } = remote;
  const page = await control.send('Runtime.evaluate', { expression: 'globalThis', objectGroup: 'script' });
  const { result } = await control.send('Runtime.callFunctionOn', {
    functionDeclaration: `function (value) { return (${RESULT_TEXT})(value, ${MAX_RESULT_CHARS}); }`,
    arguments: [
      objectId !== undefined
        ? { objectId }
        : unserializableValue !== undefined
          ? { unserializableValue }
          : { value },
    ],
    ...(page.result.objectId !== undefined && { objectId: page.result.objectId }),
    returnByValue: true,
  });
  await control.send('Runtime.releaseObjectGroup', { objectGroup: 'script' });
  return String(result.value);
}

interface Reading {
  readonly expression: string;
  /** As in the console of the developer tools: the last value counts, and `const` may be said again. */
  readonly replMode: boolean;
}

/** How to read the script: the first way in which it compiles. */
async function readingOf(control: CDPSession, script: string): Promise<Reading> {
  const bare = script.replace(/[;\s]+$/, '');
  const isFunction = /^\s*(async\s+)?(function\b|\([^()]*\)\s*=>|[\w$]+\s*=>)/.test(bare);
  const value = isFunction ? `(\n${bare}\n)()` : `(\n${bare}\n)`;
  const body = `(async () => {\n${script}\n})()`;
  const ways: Reading[] = [
    { expression: answering(`(async () => ${value})()`), replMode: false },
    { expression: script, replMode: true },
    { expression: answering(body), replMode: false },
  ];
  // Only with an agent that is on can be compiled; that one would first repeat the console, and then go on to.
  await control.send('Runtime.discardConsoleEntries');
  await control.send('Runtime.enable');
  try {
    let error: unknown;
    for (const way of ways) {
      const { exceptionDetails } = await control.send('Runtime.compileScript', {
        expression: way.expression,
        sourceURL: '',
        persistScript: false,
      });
      if (exceptionDetails === undefined) return way;
      error = scriptError(exceptionDetails);
    }
    throw error;
  } finally {
    await control.send('Runtime.disable');
  }
}

/** The value turned into text where it is, so that only the text travels. */
function answering(promise: string): string {
  return `(async () => (${RESULT_TEXT})(await ${promise}, ${MAX_RESULT_CHARS}))()`;
}

function scriptError({
  text,
  exception,
}: {
  text: string;
  exception?: { description?: string; value?: unknown };
}): ToolError {
  const thrown = exception?.description ?? (exception === undefined ? text : JSON.stringify(exception.value));
  // Lines of the stack name places in what we put around the script.
  const lines = (thrown ?? text)
    .split('\n')
    .filter((line) => !/^\s*at .*(<anonymous>|^\s*at async)/.test(line));
  return new ToolError(`The script failed: ${cut(lines.join('\n'), MAX_ERROR_CHARS)}`);
}
