// The commands `resources`, `resources show`, `prompts` and `prompts show`.

import { printable } from '../../terminal/terminal-text.ts';
import { CommandLineError } from '../api/target-options.ts';
import { hintFor } from '../api/unknown-name.ts';
import { print, printJson } from '../views/output.ts';
import { formatContents, formatMessages } from '../views/results.ts';
import { groupLines, promptSchema, promptWithArguments, resourceLines } from '../views/tools.ts';
import { readArguments } from './call-arguments.ts';
import type { McpCommand, McpContext } from './context.ts';
import { explainEmpty, groupByServer, printIncomplete, serverIds } from './list-notes.ts';
import { findItem, itemsOfServer } from './server-items.ts';
import { type ItemList, McpRefusal } from './session.ts';
import { argumentError, printResult } from './tool-commands.ts';

const emptyList: ItemList = { items: [], incomplete: [] };

export const resources: McpCommand = async (context) => {
  const { options, session, endpoint, request, width } = context;
  const [server, uri] = options.args;
  if (server !== undefined && uri === undefined && endpoint.profile !== undefined)
    throw new CommandLineError('resources of a profile have no server; remove the server');
  if (uri !== undefined) {
    const result = await readResource(uri, context);
    await printResult(result, formatContents(result), context);
    return 0;
  }
  const hasAny = session.hasCapability('resources');
  const listed = hasAny ? await session.list('resources/list', 'resources', request) : emptyList;
  const templates = hasAny ? await templatesOf(context) : emptyList;
  await printIncomplete(listed, context);
  if (options.isJson)
    await printJson(context.json({ resources: listed.items, resourceTemplates: templates.items }));
  else {
    const lines = resourceLines(listed.items, templates.items, width);
    await print(`${lines.join('\n') || printable(await explainEmpty('resource', context))}\n`);
  }
  return 0;
};

/** Reads a resource. If the URI is unknown, the error suggests existing URIs. */
async function readResource(uri: string, context: McpContext) {
  const { session, endpoint, request } = context;
  if (!session.hasCapability('resources'))
    throw new CommandLineError(printable(await explainEmpty('resource', context)));
  try {
    return await session.request('resources/read', { uri }, request);
  } catch (error) {
    if (!(error instanceof McpRefusal)) throw error;
    const uris = (await session.list('resources/list', 'resources', request)).items.map((item) =>
      String(item.uri),
    );
    if (uris.includes(uri)) throw error;
    const templates = (await templatesOf(context)).items.map((item) => String(item.uriTemplate));
    const more = templates.length === 0 ? '' : `; templates: ${templates.join(', ')}`;
    throw new CommandLineError(
      printable(
        `${endpoint.server ?? ''} has no resource ${uri} (${error.message}); ${hintFor(uri, uris)}${more}`,
      ),
    );
  }
}

/** Returns the resource templates; none if the server does not implement the method. */
async function templatesOf({ session, request }: McpContext): Promise<ItemList> {
  try {
    return await session.list('resources/templates/list', 'resourceTemplates', request);
  } catch (error) {
    if (error instanceof McpRefusal) return emptyList;
    throw error;
  }
}

export const prompts: McpCommand = async (context) => {
  const { options, session, endpoint, request, paint, width, timeoutMs } = context;
  const [server, name, ...words] = options.args;
  const listed = session.hasCapability('prompts')
    ? await session.list('prompts/list', 'prompts', request)
    : emptyList;
  const items = await itemsOfServer(listed.items, context);
  if (server !== undefined && name !== undefined) {
    const prompt = await findItem(name, items, context);
    if (prompt === undefined) {
      const names = items.map((item) => String(item.name));
      if (names.length === 0) throw new CommandLineError(printable(await explainEmpty('prompt', context)));
      throw new CommandLineError(
        printable(`${server} has no prompt ${JSON.stringify(name)}; ${hintFor(name, names)}`),
      );
    }
    const { values, problems } = readArguments(promptSchema(prompt), words);
    if (problems.length > 0) throw argumentError(`${server} ${name}`, problems, `prompts --server ${server}`);
    const result = await session.request('prompts/get', { name: prompt.name, arguments: values }, request);
    await printResult(result, formatMessages(result), context);
    return 0;
  }
  await printIncomplete(listed, context);
  if (options.isJson) await printJson(context.json({ prompts: items }));
  else if (items.length === 0) await print(`${printable(await explainEmpty('prompt', context))}\n`);
  else {
    const promptItems = items.map(promptWithArguments);
    const ids = server === undefined ? ((await serverIds(endpoint, timeoutMs)) ?? []) : [];
    const groups =
      server === undefined ? groupByServer(promptItems, ids) : [{ title: server, items: promptItems }];
    await print(`${groupLines(groups, 'prompt', paint, width).join('\n')}\n`);
  }
  return 0;
};
