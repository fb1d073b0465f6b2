// `runs`: journals of agents, fleets, flows and approved commands.

import type { RunDetails, RunList, RunRecord } from '../../http/api/run-shapes.ts';
import { runPath } from '../chat/followed-run.ts';
import { runLine, runPage, runTable } from '../views/run-views.ts';
import { explainBadValue, queryOf } from './list-options.ts';
import { operationCommands } from './operation.ts';

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
          'only these, by commas: queued, running, waiting, done, failed, cancelled',
        )
        .option('--kind <kind>', 'only of this kind: agent, fleet, flow, command')
        .option('--agent <name>', 'only of this agent')
        .option('--fleet <name>', 'only of this fleet')
        .option('--flow <name>', 'only of this flow')
        .option('--before <seq>', 'the page after one that ended with this number')
        .option('--limit <count>', 'at most this many (default: 50)');
    },
    ask: ({ client, options, timeoutMs }) => client.ask('GET', `runs${queryOf(options, filters)}`, timeoutMs),
    show: ({ body }, { paint, width }) => runTable(body as RunList, paint, width),
    explain: explainBadValue,
  },
  show: {
    timeoutSeconds: READ_SECONDS,
    declare: (command) => {
      command
        .option('--after <step>', 'only steps after that one')
        .option('--raw', 'rows of the journal as they are stored');
    },
    ask: ({ client, args: [id = ''], options, timeoutMs }) => {
      const raw = options.raw === true ? { raw: 'true' } : {};
      return client.ask('GET', runPath(id) + queryOf({ ...options, ...raw }, ['after', 'raw']), timeoutMs);
    },
    show: ({ body }, { paint, width }) => runPage(body as RunDetails, paint, width),
    explain: explainBadValue,
  },
  cancel: {
    timeoutSeconds: CHANGE_SECONDS,
    ask: ({ client, args: [id = ''], timeoutMs }) => client.ask('POST', runPath(id, 'cancel'), timeoutMs),
    show: ({ body }) => [runLine(body as RunRecord)],
  },
  retry: {
    timeoutSeconds: CHANGE_SECONDS,
    ask: ({ client, args: [id = ''], timeoutMs }) => client.ask('POST', runPath(id, 'retry'), timeoutMs),
    show: ({ body }) => [runLine(body as RunRecord)],
  },
});
