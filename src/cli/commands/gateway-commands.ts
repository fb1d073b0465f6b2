// Commands about the gateway as a whole.

import type { NodesAnswer } from '../../http/api/node-shapes.ts';
import type { Stats } from '../../http/api/stats-shapes.ts';
import type { EntryLink } from '../../inspector/entry-links.ts';
import type { Reloaded } from '../../reloads.ts';
import { ApiProblem } from '../api/api-client.ts';
import { nodesPage } from '../views/node-views.ts';
import { reloadedPage, statsPage } from '../views/server-views.ts';
import { operationCommands } from './operation.ts';

const READ_SECONDS = 10;
const RELOAD_SECONDS = 120;

export const gatewayCommands = operationCommands({
  reload: {
    timeoutSeconds: RELOAD_SECONDS,
    ask: ({ client, timeoutMs }) => client.ask('POST', 'admin/reload', timeoutMs),
    show: (answer, { client }) => {
      const { body } = answer;
      if (isReloaded(body)) return reloadedPage(body);
      throw client.refusal(answer);
    },
  },
  inspector: {
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
    timeoutSeconds: READ_SECONDS,
    ask: ({ client, timeoutMs }) => client.ask('GET', 'stats', timeoutMs),
    show: ({ body }, { paint }) => statsPage(body as Stats, paint),
  },
  nodes: {
    timeoutSeconds: READ_SECONDS,
    ask: ({ client, timeoutMs }) => client.ask('GET', 'nodes', timeoutMs),
    show: ({ body }, { paint, width }) => nodesPage(body as NodesAnswer, paint, width),
  },
});

function isReloaded(body: unknown): body is Reloaded {
  const { added, changed, removed, unchanged, triggers } = body as Partial<Reloaded>;
  const isComplete = [added, changed, removed, unchanged].every(Array.isArray);
  return isComplete && (triggers === undefined || isReloaded(triggers));
}
