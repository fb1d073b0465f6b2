// The commands that ask a running gateway one thing about its servers: which request each makes, and what it shows of the
// answer.

import type { Reloaded } from '../../reloads.ts';
import { ApiProblem } from '../api/api-client.ts';
import type { EntryLink, ServerDetails, ServerList, ServerRecord, Stats } from '../api/api-responses.ts';
import { pathOf } from '../api/api-responses.ts';
import { explainUnknownServer } from '../api/unknown-server.ts';
import { reloadedPage, serverPage, serverTable, startedLine, statsPage } from '../views/server-views.ts';
import type { Operation } from './operation.ts';

const READ_SECONDS = 10;
const CHANGE_SECONDS = 120;
const ID = 'id of a server, as the catalog has it';

export const serverOperations = {
  servers: {
    description: 'All servers of a running gateway, or one in detail.',
    args: [['[id]', ID]],
    timeoutSeconds: READ_SECONDS,
    ask: ({ client, args: [id], timeoutMs }) =>
      client.ask('GET', id === undefined ? 'servers' : pathOf(id), timeoutMs),
    show: async ({ body }, situation) => {
      const { client, args, timeoutMs, paint, width } = situation;
      const { servers } = (await client.ask('GET', 'stats', timeoutMs)).body as Stats;
      const statsOf = (each: string) => (Object.hasOwn(servers, each) ? servers[each] : undefined);
      const [id] = args;
      if (id !== undefined) return serverPage(body as ServerDetails, statsOf(id), paint);
      const rows = (body as ServerList).servers.map((server) => ({
        ...server,
        latency: statsOf(server.id)?.latency_ms,
      }));
      return serverTable(rows, paint, width);
    },
    explain: explainUnknownServer,
  },
  start: {
    description: 'Start a server; ends a pause or a park.',
    args: [['<id>', ID]],
    timeoutSeconds: CHANGE_SECONDS,
    ask: ({ client, args: [id = ''], timeoutMs }) => client.ask('POST', `${pathOf(id)}/start`, timeoutMs),
    show: ({ body }) => [startedLine(body as ServerRecord)],
    explain: explainUnknownServer,
  },
  stop: {
    description: 'Stop a server; the next request starts it again.',
    args: [['<id>', ID]],
    timeoutSeconds: CHANGE_SECONDS,
    ask: ({ client, args: [id = ''], timeoutMs }) => client.ask('POST', `${pathOf(id)}/stop`, timeoutMs),
    show: ({ body }) => [startedLine(body as ServerRecord)],
    explain: explainUnknownServer,
  },
  reload: {
    description: 'Have the gateway read its catalog and its triggers again.',
    args: [],
    timeoutSeconds: CHANGE_SECONDS,
    ask: ({ client, timeoutMs }) => client.ask('POST', 'admin/reload', timeoutMs),
    show: (answer, { client }) => {
      const { body } = answer;
      if (isReloaded(body)) return reloadedPage(body);
      throw client.refusal(answer);
    },
  },
  inspector: {
    description: "Print a link that opens the inspector with the operator's rights.",
    args: [],
    help: 'The link works once, and for five minutes. Without it the inspector can be watched where no API key is set.',
    timeoutSeconds: READ_SECONDS,
    ask: ({ client, timeoutMs }) => client.ask('POST', 'inspector/links', timeoutMs),
    show: ({ body }, { client }) => [`${client.address}${(body as EntryLink).path}`],
    explain: async (problem) =>
      problem.answer?.status === 404
        ? new ApiProblem('the inspector of this gateway is off (inspector.enabled)', false, problem.answer)
        : problem,
  },
  stats: {
    description: 'The counters of the gateway.',
    args: [],
    timeoutSeconds: READ_SECONDS,
    ask: ({ client, timeoutMs }) => client.ask('GET', 'stats', timeoutMs),
    show: ({ body }, { paint }) => statsPage(body as Stats, paint),
  },
} satisfies Readonly<Record<string, Operation>>;

function isReloaded(body: unknown): body is Reloaded {
  const { added, changed, removed, unchanged, triggers } = body as Partial<Reloaded>;
  const isComplete = [added, changed, removed, unchanged].every(Array.isArray);
  return isComplete && (triggers === undefined || isReloaded(triggers));
}
