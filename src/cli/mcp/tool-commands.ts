// The commands `tools` (list), `tools show` and `tools call`. A result is printed as text, printed as JSON,
// or saved to the file of --output. Errors in the arguments refer to `tools show`.

import { readFileSync } from 'node:fs';
import { parseJson } from '../../../config/reader/json-text.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { CommandLineError } from '../api/target-options.ts';
import { hintFor } from '../api/unknown-name.ts';
import { readStdin } from '../commands/stdin-text.ts';
import { programName } from '../program-name.ts';
import { print, printJson, printMessage } from '../views/output.ts';
import { type FormattedResult, formatResult } from '../views/results.ts';
import { groupLines, type Invocation, toolPage } from '../views/tools.ts';
import { type Arguments, readArguments } from './call-arguments.ts';
import type { McpCommand, McpContext, McpOptions } from './context.ts';
import { explainEmpty, groupByServer, printIncomplete, serverIds } from './list-notes.ts';
import { saveContent } from './save-content.ts';
import { recordOf } from './schema-fields.ts';
import { findItem, itemsOfServer } from './server-items.ts';
import type { ListedItem } from './session.ts';

export const tools: McpCommand = async (context) => {
  const { options, session, endpoint, paint, width, timeoutMs, request } = context;
  const [server, name] = options.args;
  if (server !== undefined && name !== undefined) {
    const tool = await findTool(name, context);
    if (options.isJson) await printJson(context.json(tool));
    else await print(`${toolPage(server, { ...tool, name }, paint, invocationOf(options)).join('\n')}\n`);
    return 0;
  }
  const listed = await session.list('tools/list', 'tools', request);
  const items = await itemsOfServer(listed.items, context);
  await printIncomplete(listed, context);
  if (options.isJson) await printJson(context.json({ tools: items }));
  else if (items.length === 0) await print(`${printable(await explainEmpty('tool', context))}\n`);
  else {
    const ids = server === undefined ? await serverIds(endpoint, timeoutMs) : undefined;
    const groups = server === undefined ? groupByServer(items, ids ?? []) : [{ title: server, items }];
    await print(`${groupLines(groups, 'tool', paint, width).join('\n')}\n`);
    if (ids !== undefined && ids.length > 0 && groups.length === 1 && !ids.includes(groups[0]?.title ?? ''))
      printMessage(
        'clients see only these tools (expose: search); "tools --server SERVER" lists the tools of a server',
      );
  }
  return 0;
};

export const call: McpCommand = async (context) => {
  const { options, session, endpoint, request } = context;
  const [server = '', name = '', ...words] = options.args;
  const base = await inputOf(options.input);
  const tool = await findTool(name, context);
  const { values, problems } = readArguments(recordOf(tool.inputSchema), words, base);
  if (problems.length > 0) throw argumentError(`${server} ${name}`, problems, `tools show ${server} ${name}`);
  const result = await session.request('tools/call', { name: tool.name, arguments: values }, request);
  const isFailed = result.isError === true;
  await printResult(result, formatResult(result, context.width !== undefined), context);
  if (isFailed) printMessage(printable(`${endpoint.server ?? server} ${name} reported a failure`));
  return isFailed ? 1 : 0;
};

/** Prints a result, or saves it to the file of --output. */
export async function printResult(
  result: Readonly<Record<string, unknown>>,
  formatted: FormattedResult,
  { options, json }: McpContext,
): Promise<void> {
  const { output, isJson } = options;
  if (output !== undefined) await saveContent(output, formatted);
  if (isJson) return void (await printJson(json(result)));
  // The content is now in the file, so it is not printed.
  if (output !== undefined && formatted.attachments.length === 0) return;
  const lines =
    output === undefined ? formatted.lines : formatted.lines.filter((line) => !line.endsWith(SAVE_HINT));
  if (lines.length > 0) await print(`${lines.join('\n')}\n`);
}

const SAVE_HINT = '--output FILE saves it]';

/** Returns the program name and the options that select the same gateway, for example command lines. */
function invocationOf({ url, config, apiKeyFile, profile, catalog }: McpOptions): Invocation {
  const targetOptions = { url, config, 'api-key-file': apiKeyFile, profile, catalog };
  const options = Object.entries(targetOptions).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  return { program: programName(), options };
}

/** Returns the error for invalid arguments. `shows` is the command that describes the arguments. */
export function argumentError(what: string, problems: readonly string[], shows: string): CommandLineError {
  const lines = problems.map((problem) => `  ${printable(problem)}`);
  return new CommandLineError(
    [
      printable(`${what} has invalid arguments:`),
      ...lines,
      printable(`("${shows}" describes the arguments)`),
    ].join('\n'),
  );
}

/** Finds a tool by its own name or the name at /mcp. Throws CommandLineError. */
async function findTool(name: string, context: McpContext): Promise<ListedItem> {
  const { session, endpoint, request } = context;
  const listed = await session.list('tools/list', 'tools', request);
  const { server = '' } = endpoint;
  const items = await itemsOfServer(listed.items, context);
  const found = await findItem(name, items, context);
  if (found !== undefined) return found;
  await printIncomplete(listed, context);
  const names = items.map((item) => String(item.name));
  if (names.length === 0) throw new CommandLineError(printable(await explainEmpty('tool', context)));
  if (name === '')
    throw new CommandLineError(printable(`the name of a tool is missing; ${server} has ${names.join(', ')}`));
  throw new CommandLineError(
    printable(`${server} has no tool ${JSON.stringify(name)}; ${hintFor(name, names)}`),
  );
}

/** Returns the object of --input. Throws CommandLineError. */
async function inputOf(input: string | undefined): Promise<Arguments> {
  if (input === undefined) return {};
  const text = input === '-' ? await readStdin() : input.startsWith('@') ? fileText(input.slice(1)) : input;
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw new CommandLineError(`--input: invalid JSON: ${printable((error as Error).message)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Arguments;
  throw new CommandLineError('--input expects one JSON object, with the arguments as its members');
}

function fileText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code = 'unknown reason' } = error as { code?: string };
    throw new CommandLineError(printable(`--input @${file}: cannot be read (${code})`));
  }
}
