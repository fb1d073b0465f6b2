// `triggers`: commands for the triggers of a running gateway, or of files.

import type { TriggerDetails, TriggerList, TriggerRecord } from '../../http/api/trigger-shapes.ts';
import { triggerFileTable, triggerLine, triggerTable } from '../views/automation-views.ts';
import { triggerPage } from '../views/trigger-page.ts';
import { declareFiles, fromFiles, hasFiles } from './from-files.ts';
import { type Operation, operationCommands } from './operation.ts';
import type { TriggerInFile } from './resource-files.ts';
import { explainUnknownTrigger, triggerPath } from './resource-requests.ts';
import { runTrigger } from './run-trigger.ts';
import { sendMessage } from './send-message.ts';

const READ_SECONDS = 10;
const CHANGE_SECONDS = 30;

const read: Pick<Operation, 'timeoutSeconds' | 'declare' | 'ask' | 'explain'> = {
  timeoutSeconds: READ_SECONDS,
  declare: declareFiles,
  ask: (situation) =>
    hasFiles(situation)
      ? fromFiles(situation, 'trigger')
      : situation.client.ask('GET', triggerPath(...situation.args), situation.timeoutMs),
  explain: explainUnknownTrigger,
};

const change = (verb: 'pause' | 'resume'): Operation => ({
  timeoutSeconds: CHANGE_SECONDS,
  ask: ({ client, args: [name = ''], timeoutMs }) => client.ask('POST', triggerPath(name, verb), timeoutMs),
  show: ({ body }) => [triggerLine(body as TriggerRecord)],
  explain: explainUnknownTrigger,
});

export const triggerCommands = operationCommands({
  list: {
    ...read,
    examples: ['triggers', 'triggers --json', 'triggers -f triggers/ agents/'],
    show: ({ body }, situation) =>
      hasFiles(situation)
        ? triggerFileTable((body as { triggers: readonly TriggerInFile[] }).triggers, situation.width)
        : triggerTable((body as TriggerList).triggers, situation.paint, situation.width),
  },
  show: {
    ...read,
    examples: ['triggers show deploy', 'triggers show deploy -f triggers/'],
    show: ({ body }, situation) =>
      hasFiles(situation)
        ? triggerFileTable([body as TriggerInFile], situation.width)
        : triggerPage(body as TriggerDetails, situation.paint),
  },
  pause: change('pause'),
  resume: change('resume'),
  run: runTrigger,
  send: sendMessage,
});
