// `tools`, `tools show` and `tools call`.

import { readFileSync } from 'node:fs';
import { printable } from '../../terminal/terminal-text.ts';
import { UsageError } from '../api/target-options.ts';
import { hintFor } from '../api/unknown-name.ts';
import { readStdin } from '../commands/stdin-text.ts';
import { programName } from '../program-name.ts';
import { complain, print, printJson } from '../views/output.ts';
import { type ShownResult, shownResult } from '../views/result-views.ts';
import { groupLines, type Invocation, toolPage } from '../views/tool-views.ts';
import { type Arguments, readArguments } from './call-values.ts';
import { grouped, serverIds, tellIncomplete, whyEmpty } from './listed-servers.ts';
import type { Item } from './mcp-session.ts';
import { saveContent } from './saved-content.ts';
import { recordOf } from './schema-fields.ts';
import { itemNamed, itemsOfServer } from './server-items.ts';
import type { McpCommand, McpOptions, McpSituation } from './situation.ts';

export const tools: McpCommand = async (situation) => {
  const { options, session, place, paint, width, timeoutMs, request } = situation;
  const [server, name] = options.args;
  if (server !== undefined && name !== undefined) {
    const tool = await toolNamed(name, situation);
    if (options.isJson) await printJson(situation.json(tool));
    else await print(`${toolPage(server, { ...tool, name }, paint, invocationOf(options)).join('\n')}\n`);
    return 0;
  }
  const listed = await session.list('tools/list', 'tools', request);
  const items = await itemsOfServer(listed.items, situation);
  await tellIncomplete(listed, situation);
  if (options.isJson) await printJson(situation.json({ tools: items }));
  else if (items.length === 0) await print(`${printable(await whyEmpty('tool', situation))}\n`);
  else {
    const ids = server === undefined ? await serverIds(place, timeoutMs) : undefined;
    const groups = server === undefined ? grouped(items, ids ?? []) : [{ title: server, items }];
    await print(`${groupLines(groups, 'tool', paint, width).join('\n')}\n`);
    if (ids !== undefined && ids.length > 0 && groups.length === 1 && !ids.includes(groups[0]?.title ?? ''))
      complain(
        'clients are shown these alone (expose: search); "tools --server SERVER" lists the tools of a server',
      );
  }
  return 0;
};

export const call: McpCommand = async (situation) => {
  const { options, session, place, request } = situation;
  const [server = '', name = '', ...words] = options.args;
  const base = await inputOf(options.input);
  const tool = await toolNamed(name, situation);
  const { values, problems } = readArguments(recordOf(tool.inputSchema), words, base);
  if (problems.length > 0) throw refusal(`${server} ${name}`, problems, `tools show ${server} ${name}`);
  const result = await session.request('tools/call', { name: tool.name, arguments: values }, request);
  const isFailed = result.isError === true;
  await give(result, shownResult(result, situation.width !== undefined), situation);
  if (isFailed) complain(printable(`${place.server ?? server} ${name} says that it failed`));
  return isFailed ? 1 : 0;
};

/** Prints a result, or keeps it in the file of --output. */
export async function give(
  result: Readonly<Record<string, unknown>>,
  shown: ShownResult,
  { options, json }: McpSituation,
): Promise<void> {
  const { output, isJson } = options;
  if (output !== undefined) await saveContent(output, shown);
  if (isJson) return void (await printJson(json(result)));
  // What was saved is not printed as well.
  if (output !== undefined && shown.attachments.length === 0) return;
  const lines = output === undefined ? shown.lines : shown.lines.filter((line) => !line.endsWith(SAVES));
  if (lines.length > 0) await print(`${lines.join('\n')}\n`);
}

const SAVES = '--output FILE saves it]';

/** With the same options an example leads to the same place. */
function invocationOf({ url, config, apiKeyFile, profile, catalog }: McpOptions): Invocation {
  const given = { url, config, 'api-key-file': apiKeyFile, profile, catalog };
  const options = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  return { program: programName(), options };
}

/** What is wrong with arguments, and where they are explained. */
export function refusal(what: string, problems: readonly string[], shows: string): UsageError {
  const lines = problems.map((problem) => `  ${printable(problem)}`);
  return new UsageError(
    [
      printable(`${what} cannot be asked for like that:`),
      ...lines,
      printable(`("${shows}" shows what it takes)`),
    ].join('\n'),
  );
}

/** Looks up a tool by own name or name at /mcp. Throws UsageError. */
async function toolNamed(name: string, situation: McpSituation): Promise<Item> {
  const { session, place, request } = situation;
  const listed = await session.list('tools/list', 'tools', request);
  const { server = '' } = place;
  const items = await itemsOfServer(listed.items, situation);
  const found = await itemNamed(name, items, situation);
  if (found !== undefined) return found;
  await tellIncomplete(listed, situation);
  const names = items.map((item) => String(item.name));
  if (names.length === 0) throw new UsageError(printable(await whyEmpty('tool', situation)));
  if (name === '')
    throw new UsageError(printable(`the name of a tool is missing; ${server} has ${names.join(', ')}`));
  throw new UsageError(printable(`${server} has no tool ${JSON.stringify(name)}; ${hintFor(name, names)}`));
}

/** Throws UsageError. */
async function inputOf(input: string | undefined): Promise<Arguments> {
  if (input === undefined) return {};
  const text = input === '-' ? await readStdin() : input.startsWith('@') ? fileText(input.slice(1)) : input;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--input: it is no JSON: ${printable((error as Error).message)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Arguments;
  throw new UsageError('--input expects one JSON object, with the arguments as its members');
}

function fileText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code = 'unknown reason' } = error as { code?: string };
    throw new UsageError(printable(`--input @${file}: it cannot be read (${code})`));
  }
}
