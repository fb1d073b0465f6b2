// Commands about the whole gateway: `reload`, `inspector`, `stats`, `nodes`.

import type { NodesAnswer } from '../../http/api/node-shapes.ts';
import type { Stats } from '../../http/api/stats-shapes.ts';
import type { EntryLink } from '../../inspector/entry-links.ts';
import type { ReloadDifference } from '../../reloads.ts';
import { ApiProblem } from '../api/client.ts';
import { nodesPage } from '../views/nodes.ts';
import { reloadedPage, statsPage } from '../views/servers.ts';
import { operationCommands } from './operation.ts';

const READ_SECONDS = 10;
const RELOAD_SECONDS = 120;

export const gatewayCommands = operationCommands({
  reload: {
    examples: ['reload'],
    timeoutSeconds: RELOAD_SECONDS,
    request: ({ client, timeoutMs }) => client.request('POST', 'admin/reload', timeoutMs),
    show: (response, { client }) => {
      const { body } = response;
      if (isReloadDifference(body)) return reloadedPage(body);
      // The server at this address is not a gateway.
      throw client.problemOf(response);
    },
  },
  inspector: {
    examples: ['inspector'],
    help: 'The link works once, within five minutes. Without an API key the inspector is readable without a link.',
    timeoutSeconds: READ_SECONDS,
    request: ({ client, timeoutMs }) => client.request('POST', 'inspector/links', timeoutMs),
    show: ({ body }, { client }) => [`${client.address}${(body as EntryLink).path}`],
    explain: async (problem) =>
      problem.response?.status === 404
        ? new ApiProblem(
            'the inspector of this gateway is disabled; remove inspector.enabled: false from the gateway file',
            { response: problem.response },
          )
        : problem,
  },
  stats: {
    examples: ['stats', 'stats --json'],
    timeoutSeconds: READ_SECONDS,
    request: ({ client, timeoutMs }) => client.request('GET', 'stats', timeoutMs),
    show: ({ body }, { paint }) => statsPage(body as Stats, paint),
  },
  nodes: {
    examples: ['nodes'],
    timeoutSeconds: READ_SECONDS,
    request: ({ client, timeoutMs }) => client.request('GET', 'nodes', timeoutMs),
    show: ({ body }, { paint, width }) => nodesPage(body as NodesAnswer, paint, width),
  },
});

function isReloadDifference(body: unknown): body is ReloadDifference {
  const { added, changed, removed, unchanged, triggers } = body as Partial<ReloadDifference>;
  const isComplete = [added, changed, removed, unchanged].every(Array.isArray);
  return isComplete && (triggers === undefined || isReloadDifference(triggers));
}
