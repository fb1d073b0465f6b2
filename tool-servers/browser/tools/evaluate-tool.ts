// browser_evaluate: runs a script in the page and returns its result as JSON text.
//
// 1. The script runs in the page only. Trial compilation in the page, without execution, shows whether it is
//    an expression, statements or a function body.
// 2. The result is truncated in the page. An endless script is stopped at the step's time limit.

import { setTimeout as delay } from 'node:timers/promises';
import type { CDPSession } from 'playwright-core';
import { z } from 'zod';
import { defineTool, type ServerTool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import { lineOf, truncate } from '../pages/console-log.ts';
import { RESULT_TEXT } from '../pages/result-text.ts';
import type { Session } from '../session.ts';
import { pageReportSchema, reportOf, reportText } from './page-report.ts';

const MAX_SCRIPT_CHARS = 100_000;
const MAX_RESULT_CHARS = 50_000;
const MAX_ERROR_CHARS = 2_000;
const MAX_CONSOLE_LINES = 20;
const MAX_CONSOLE_CHARS = 500;

export function evaluateTool(session: Session): ServerTool {
  return defineTool({
    name: 'browser_evaluate',
    title: 'Run JavaScript in the page',
    description:
      "Runs JavaScript in the main frame of the current page, with the page's permissions, and returns the result as JSON. " +
      'Accepts an expression (document.title), statements with return (const a = 1; return a;), statements whose last value ' +
      'is the result, or a function (() => location.href); await is supported. Elements are returned as short HTML, cycles and ' +
      `functions as markers; results are truncated at ${MAX_RESULT_CHARS} characters. Also returns new lines of the ` +
      'console. Runs in the page only: no file system, no Node.js. Stopped at the time limit of the server.',
    input: z.strictObject({
      script: z.string().min(1).max(MAX_SCRIPT_CHARS).describe('JavaScript to run in the page'),
    }),
    output: pageReportSchema.extend({
      result: z.string().describe('JSON text; "undefined" without a result'),
      console: z.array(z.string()).describe('Newest console lines written while the script ran'),
    }),
    hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    run: async ({ script }, call) => {
      const lineCount = session.consoleLog.lineCount;
      const result = await session.step(call, async ({ control, page }) => {
        try {
          return await evaluate(control, script);
        } catch (error) {
          if (error instanceof ToolError) throw error;
          return await resultWithoutPage(error, () => page.isClosed() && session.current !== undefined);
        }
      });
      const entries = session.consoleLog.since(lineCount).slice(-MAX_CONSOLE_LINES);
      const lines = entries.map((entry) => truncate(lineOf(entry), MAX_CONSOLE_CHARS));
      const report = await reportOf(session);
      const consoleText = lines.length === 0 ? '' : `\nConsole:\n${lines.join('\n')}`;
      return {
        text: `Result: ${result}${consoleText}\n${reportText(report)}`,
        structured: { ...report, result, console: lines },
      };
    },
  });
}

/** Returns the result text for a script that navigated or closed its page; rethrows other errors. */
async function resultWithoutPage(error: unknown, hasClosedItself: () => boolean): Promise<string> {
  const { message } = error as Error;
  if (
    /Inspected target navigated|Execution context was destroyed|Cannot find (default execution )?context/i.test(
      message,
    )
  )
    return 'undefined (the page navigated before the script returned a result)';
  for (let attempt = 0; attempt < 10 && !hasClosedItself(); attempt++) await delay(20);
  if (hasClosedItself()) return 'undefined (the script closed the page)';
  throw error;
}

async function evaluate(control: CDPSession, script: string): Promise<string> {
  const { expression, replMode } = await compile(control, script);
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

/** Returns a value of the page as text. */
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

interface CompiledScript {
  readonly expression: string;
  /** Like the developer console: the last value is the result, and `const` may be redeclared. */
  readonly replMode: boolean;
}

/** Returns the first interpretation of the script that compiles. */
async function compile(control: CDPSession, script: string): Promise<CompiledScript> {
  const trimmedScript = script.replace(/[;\s]+$/, '');
  const isFunction = /^\s*(async\s+)?(function\b|\([^()]*\)\s*=>|[\w$]+\s*=>)/.test(trimmedScript);
  const expressionCode = isFunction ? `(\n${trimmedScript}\n)()` : `(\n${trimmedScript}\n)`;
  const functionBody = `(async () => {\n${script}\n})()`;
  const candidates: CompiledScript[] = [
    { expression: asResultText(`(async () => ${expressionCode})()`), replMode: false },
    { expression: script, replMode: true },
    { expression: asResultText(functionBody), replMode: false },
  ];
  // Compiling requires Runtime.enable, which repeats all console entries unless they were discarded.
  await control.send('Runtime.discardConsoleEntries');
  await control.send('Runtime.enable');
  try {
    let error: unknown;
    for (const candidate of candidates) {
      const { exceptionDetails } = await control.send('Runtime.compileScript', {
        expression: candidate.expression,
        sourceURL: '',
        persistScript: false,
      });
      if (exceptionDetails === undefined) return candidate;
      error = scriptError(exceptionDetails);
    }
    throw error;
  } finally {
    await control.send('Runtime.disable');
  }
}

/** Converts the value to text in the page: only text is transferred. */
function asResultText(promise: string): string {
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
  // Omits stack lines: they refer to the code around the script.
  const lines = (thrown ?? text)
    .split('\n')
    .filter((line) => !/^\s*at .*(<anonymous>|^\s*at async)/.test(line));
  return new ToolError(`The script failed: ${truncate(lines.join('\n'), MAX_ERROR_CHARS)}`);
}
