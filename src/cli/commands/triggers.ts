// `triggers`: lists, shows, pauses, resumes and runs triggers on a running gateway. With -f, lists and shows
// the triggers in files.

import type { TriggerDetailsRecord, TriggerList, TriggerRecord } from '../../http/api/trigger-shapes.ts';
import { requestDeadLetters } from '../api/dead-letters.ts';
import { triggerFileTable, triggerLine, triggerTable } from '../views/automation.ts';
import { triggerPage } from '../views/trigger-page.ts';
import { declareFiles, fromFiles, hasFiles } from './from-files.ts';
import { type Operation, operationCommands } from './operation.ts';
import type { TriggerInFile } from './resource-files.ts';
import { explainUnknownTrigger, triggerPath } from './resource-requests.ts';
import { runTrigger } from './run-trigger.ts';
import { sendMessage } from './send-message.ts';

const READ_SECONDS = 10;
const CHANGE_SECONDS = 30;

const readOperation: Pick<Operation, 'timeoutSeconds' | 'declare' | 'request' | 'explain'> = {
  timeoutSeconds: READ_SECONDS,
  declare: declareFiles,
  request: (context) =>
    hasFiles(context)
      ? fromFiles(context, 'trigger')
      : context.client.request('GET', triggerPath(...context.args), context.timeoutMs),
  explain: explainUnknownTrigger,
};

const changeOperation = (verb: 'pause' | 'resume'): Operation => ({
  examples: [`triggers ${verb} deploy`],
  timeoutSeconds: CHANGE_SECONDS,
  request: ({ client, args: [name = ''], timeoutMs }) =>
    client.request('POST', triggerPath(name, verb), timeoutMs),
  show: ({ body }) => [triggerLine(body as TriggerRecord)],
  explain: explainUnknownTrigger,
});

export const triggerCommands = operationCommands({
  list: {
    ...readOperation,
    examples: ['triggers', 'triggers --json', 'triggers -f triggers/ agents/'],
    show: async ({ body }, context) => {
      if (hasFiles(context))
        return triggerFileTable((body as { triggers: readonly TriggerInFile[] }).triggers, context.width);
      const letters = await requestDeadLetters(context.client, context.timeoutMs);
      return triggerTable((body as TriggerList).triggers, letters, context.paint, context.width);
    },
  },
  show: {
    ...readOperation,
    examples: ['triggers show deploy', 'triggers show deploy -f triggers/'],
    show: async ({ body }, context) => {
      if (hasFiles(context)) return triggerFileTable([body as TriggerInFile], context.width);
      const trigger = body as TriggerDetailsRecord;
      const letters = await requestDeadLetters(context.client, context.timeoutMs, trigger.name);
      return triggerPage(trigger, letters, context.paint);
    },
  },
  pause: changeOperation('pause'),
  resume: changeOperation('resume'),
  run: runTrigger,
  send: sendMessage,
});
