// `runs`: lists, shows, cancels and retries runs of agents, fleets, flows and commands on a running gateway.

import type { RunDetails, RunList, RunRecord } from '../../http/api/run-shapes.ts';
import { runPath } from '../chat/follow-run.ts';
import { runLine, runPage, runTable } from '../views/runs.ts';
import { operationCommands } from './operation.ts';
import { explainBadValue, queryString } from './query-options.ts';

const READ_SECONDS = 10;
const CHANGE_SECONDS = 30;
const filters = ['state', 'kind', 'agent', 'fleet', 'flow', 'before', 'limit'];

export const runCommands = operationCommands({
  list: {
    timeoutSeconds: READ_SECONDS,
    examples: ['runs --state waiting', 'runs --agent oncall --limit 10 --json', 'runs --flow deploy'],
    declare: (command) => {
      command
        .option(
          '--state <states>',
          'only these states, separated by commas: queued, running, waiting, done, failed, cancelled',
        )
        .option('--kind <kind>', 'only runs of this kind: agent, fleet, flow, command')
        .option('--agent <name>', 'only runs of this agent')
        .option('--fleet <name>', 'only runs of this fleet')
        .option('--flow <name>', 'only runs of this flow')
        .option('--before <seq>', 'return runs before this sequence number')
        .option('--limit <count>', 'maximum number of rows (default: 50)');
    },
    request: ({ client, options, timeoutMs }) =>
      client.request('GET', `runs${queryString(options, filters)}`, timeoutMs),
    show: ({ body }, { paint, width }) => runTable(body as RunList, paint, width),
    explain: explainBadValue,
  },
  show: {
    examples: ['runs show http:alerts/alert-2', 'runs show http:alerts/alert-2 --raw'],
    timeoutSeconds: READ_SECONDS,
    declare: (command) => {
      command
        .option('--after <step>', 'only steps after this one')
        .option('--raw', 'print the stored rows of the journal');
    },
    request: ({ client, args: [id = ''], options, timeoutMs }) => {
      const raw = options.raw === true ? { raw: 'true' } : {};
      return client.request(
        'GET',
        runPath(id) + queryString({ ...options, ...raw }, ['after', 'raw']),
        timeoutMs,
      );
    },
    show: ({ body }, { paint, width }) => runPage(body as RunDetails, paint, width),
    explain: explainBadValue,
  },
  cancel: {
    examples: ['runs cancel http:alerts/alert-2'],
    timeoutSeconds: CHANGE_SECONDS,
    request: ({ client, args: [id = ''], timeoutMs }) =>
      client.request('POST', runPath(id, 'cancel'), timeoutMs),
    show: ({ body }) => [runLine(body as RunRecord)],
  },
  retry: {
    examples: ['runs retry http:alerts/alert-2'],
    timeoutSeconds: CHANGE_SECONDS,
    request: ({ client, args: [id = ''], timeoutMs }) =>
      client.request('POST', runPath(id, 'retry'), timeoutMs),
    show: ({ body }) => [runLine(body as RunRecord)],
  },
});
