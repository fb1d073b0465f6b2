// `resources`, `resources show`, `prompts` and `prompts show`.

import { printable } from '../../terminal/terminal-text.ts';
import { UsageError } from '../api/target-options.ts';
import { hintFor } from '../api/unknown-name.ts';
import { print, printJson } from '../views/output.ts';
import { shownContents, shownMessages } from '../views/result-views.ts';
import { groupLines, promptSchema, promptWithArguments, resourceLines } from '../views/tool-views.ts';
import { readArguments } from './call-values.ts';
import { grouped, serverIds, tellIncomplete, whyEmpty } from './listed-servers.ts';
import { type Listed, McpRefusal } from './mcp-session.ts';
import { itemNamed, itemsOfServer } from './server-items.ts';
import type { McpCommand, McpSituation } from './situation.ts';
import { give, refusal } from './tool-commands.ts';

const nothing: Listed = { items: [], incomplete: [] };

export const resources: McpCommand = async (situation) => {
  const { options, session, place, request, width } = situation;
  const [server, uri] = options.args;
  if (server !== undefined && uri === undefined && place.profile !== undefined)
    throw new UsageError('resources of a profile are listed together: leave out the server');
  if (uri !== undefined) {
    const result = await read(uri, situation);
    await give(result, shownContents(result), situation);
    return 0;
  }
  const hasAny = session.has('resources');
  const listed = hasAny ? await session.list('resources/list', 'resources', request) : nothing;
  const templates = hasAny ? await templatesOf(situation) : nothing;
  await tellIncomplete(listed, situation);
  if (options.isJson)
    await printJson(situation.json({ resources: listed.items, resourceTemplates: templates.items }));
  else {
    const lines = resourceLines(listed.items, templates.items, width);
    await print(`${lines.join('\n') || printable(await whyEmpty('resource', situation))}\n`);
  }
  return 0;
};

/** A uri that is not known has its own explanation: which are. */
async function read(uri: string, situation: McpSituation) {
  const { session, place, request } = situation;
  if (!session.has('resources')) throw new UsageError(printable(await whyEmpty('resource', situation)));
  try {
    return await session.request('resources/read', { uri }, request);
  } catch (error) {
    if (!(error instanceof McpRefusal)) throw error;
    const known = (await session.list('resources/list', 'resources', request)).items.map((item) =>
      String(item.uri),
    );
    if (known.includes(uri)) throw error;
    const templates = (await templatesOf(situation)).items.map((item) => String(item.uriTemplate));
    const more = templates.length === 0 ? '' : `; templates: ${templates.join(', ')}`;
    throw new UsageError(
      printable(
        `${place.server ?? ''} gives no resource ${uri} (${error.message}); ${hintFor(uri, known)}${more}`,
      ),
    );
  }
}

/** Not every server that has resources knows the method. */
async function templatesOf({ session, request }: McpSituation): Promise<Listed> {
  try {
    return await session.list('resources/templates/list', 'resourceTemplates', request);
  } catch (error) {
    if (error instanceof McpRefusal) return nothing;
    throw error;
  }
}

export const prompts: McpCommand = async (situation) => {
  const { options, session, place, request, paint, width, timeoutMs } = situation;
  const [server, name, ...words] = options.args;
  const listed = session.has('prompts') ? await session.list('prompts/list', 'prompts', request) : nothing;
  const items = await itemsOfServer(listed.items, situation);
  if (server !== undefined && name !== undefined) {
    const prompt = await itemNamed(name, items, situation);
    if (prompt === undefined) {
      const names = items.map((item) => String(item.name));
      if (names.length === 0) throw new UsageError(printable(await whyEmpty('prompt', situation)));
      throw new UsageError(
        printable(`${server} has no prompt ${JSON.stringify(name)}; ${hintFor(name, names)}`),
      );
    }
    const { values, problems } = readArguments(promptSchema(prompt), words);
    if (problems.length > 0) throw refusal(`${server} ${name}`, problems, `prompts --server ${server}`);
    const result = await session.request('prompts/get', { name: prompt.name, arguments: values }, request);
    await give(result, shownMessages(result), situation);
    return 0;
  }
  await tellIncomplete(listed, situation);
  if (options.isJson) await printJson(situation.json({ prompts: items }));
  else if (items.length === 0) await print(`${printable(await whyEmpty('prompt', situation))}\n`);
  else {
    const shown = items.map(promptWithArguments);
    const ids = server === undefined ? ((await serverIds(place, timeoutMs)) ?? []) : [];
    const groups = server === undefined ? grouped(shown, ids) : [{ title: server, items: shown }];
    await print(`${groupLines(groups, 'prompt', paint, width).join('\n')}\n`);
  }
  return 0;
};
