// `runs`: what agents, fleets, flows and commands with a journal have done and are at, and what an operator does with one.

import type { RunDetails, RunList, RunRecord } from '../api/api-responses.ts';
import { runPath } from '../chat/followed-run.ts';
import { runLine, runPage, runTable } from '../views/run-views.ts';
import { explainBadValue, queryOf } from './list-options.ts';
import type { Operation } from './operation.ts';

const READ_SECONDS = 10;
const CHANGE_SECONDS = 30;
const RUN = 'id of a run, as the list shows it';
const filters = ['state', 'kind', 'agent', 'fleet', 'flow', 'before', 'limit'];

export const runOperations = {
  'runs list': {
    description:
      'Runs of agents with a model, fleets and flows, and of commands that were approved, the newest first.',
    args: [],
    timeoutSeconds: READ_SECONDS,
    examples: [
      'runs list --state waiting',
      'runs list --agent oncall --limit 10 --json',
      'runs list --flow deploy',
    ],
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
  'runs show': {
    description: 'One run: how it stands, what it has used, and each of its steps.',
    args: [['<id>', RUN]],
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
  'runs cancel': {
    description: 'End a run that has not ended, whatever it is at.',
    args: [['<id>', RUN]],
    timeoutSeconds: CHANGE_SECONDS,
    ask: ({ client, args: [id = ''], timeoutMs }) => client.ask('POST', runPath(id, 'cancel'), timeoutMs),
    show: ({ body }) => [runLine(body as RunRecord)],
  },
  'runs retry': {
    description: 'Have a run that failed or was cancelled go on where it was; nothing of it is done again.',
    args: [['<id>', RUN]],
    timeoutSeconds: CHANGE_SECONDS,
    ask: ({ client, args: [id = ''], timeoutMs }) => client.ask('POST', runPath(id, 'retry'), timeoutMs),
    show: ({ body }) => [runLine(body as RunRecord)],
  },
} satisfies Readonly<Record<string, Operation>>;
