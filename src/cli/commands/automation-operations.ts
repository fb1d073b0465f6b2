// The commands about triggers and what they have accepted: which request each makes, and what it shows of the answer.

import { printable } from '../../terminal/terminal-text.ts';
import { ApiProblem, type ApiResponse } from '../api/api-client.ts';
import type {
  DeliveryDetails,
  DeliveryList,
  DeliveryRecord,
  TriggerDetails,
  TriggerRecord,
} from '../api/api-responses.ts';
import { deliveryLine, deliveryPage, deliveryTable, triggerLine } from '../views/automation-views.ts';
import { triggerPage } from '../views/trigger-page.ts';
import { explainUnknownTrigger, getOperations, triggerPath } from './get-operations.ts';
import { askForDeliveries, declareFilter } from './list-deliveries.ts';
import { explainBadValue } from './list-options.ts';
import type { Operation, Situation } from './operation.ts';
import { runTrigger } from './run-trigger.ts';
import { sendMessage } from './send-message.ts';

const READ_SECONDS = 10;
const CHANGE_SECONDS = 30;
const TRIGGER = 'name of a trigger';
const DELIVERY = 'id of a delivery, as the list shows it';

const deliveryPath = (...segments: readonly string[]) =>
  ['deliveries', ...segments.map(encodeURIComponent)].join('/');

/** What the gateway says about one of several deliveries that cannot be done with as asked. */
interface Refused {
  readonly id: string;
  readonly error: string;
}

/** One request for each id, one after the other; their answers as one list, in which those that are refused stand too. */
async function each({ client, args, timeoutMs }: Situation, verb: string): Promise<ApiResponse> {
  const bodies: unknown[] = [];
  for (const id of args) {
    try {
      bodies.push((await client.ask('POST', deliveryPath(id, verb), timeoutMs)).body);
    } catch (error) {
      const isItsOwn = error instanceof ApiProblem && [404, 409].includes(error.answer?.status ?? 0);
      if (!isItsOwn || args.length === 1) throw error;
      const { message } = error;
      bodies.push({ id, error: message } satisfies Refused);
    }
  }
  return { status: 200, body: bodies, text: JSON.stringify(bodies) };
}

const isRefused = (row: DeliveryRecord | Refused): row is Refused => 'error' in row;

const eachLine = ({ body }: ApiResponse) =>
  (body as readonly (DeliveryRecord | Refused)[]).map((row) =>
    isRefused(row) ? `${printable(row.id)}: ${printable(row.error)}` : deliveryLine(row),
  );

const eachCode = ({ body }: ApiResponse) =>
  (body as readonly (DeliveryRecord | Refused)[]).some(isRefused) ? 1 : 0;

async function explainUnknownDelivery(problem: ApiProblem, { args: [id] }: Situation): Promise<ApiProblem> {
  const isUnknown = problem.answer?.status === 404 && /no delivery/.test(problem.message);
  if (!isUnknown || id === undefined) return problem;
  const message = `there is no delivery ${JSON.stringify(id)}; "deliveries list" shows those that there are, and their records end with the retention time`;
  return new ApiProblem(message, false, problem.answer);
}

export const automationOperations = {
  ...getOperations,
  'triggers show': {
    description: 'One trigger in detail: how it does, what was refused last, its menu and its limits.',
    args: [['<name>', TRIGGER]],
    timeoutSeconds: READ_SECONDS,
    ask: ({ client, args: [name = ''], timeoutMs }) => client.ask('GET', triggerPath(name), timeoutMs),
    show: ({ body }, { paint }) => triggerPage(body as TriggerDetails, paint),
    explain: explainUnknownTrigger,
  },
  'triggers pause': {
    description: 'Pause a trigger: what comes is accepted and waits, over a restart too.',
    args: [['<name>', TRIGGER]],
    timeoutSeconds: CHANGE_SECONDS,
    ask: ({ client, args: [name = ''], timeoutMs }) =>
      client.ask('POST', triggerPath(name, 'pause'), timeoutMs),
    show: ({ body }) => [triggerLine(body as TriggerRecord)],
    explain: explainUnknownTrigger,
  },
  'triggers resume': {
    description: 'Resume a trigger that was paused; what waits is handled in its order.',
    args: [['<name>', TRIGGER]],
    timeoutSeconds: CHANGE_SECONDS,
    ask: ({ client, args: [name = ''], timeoutMs }) =>
      client.ask('POST', triggerPath(name, 'resume'), timeoutMs),
    show: ({ body }) => [triggerLine(body as TriggerRecord)],
    explain: explainUnknownTrigger,
  },
  'run trigger': runTrigger,
  send: sendMessage,
  'deliveries list': {
    description: 'What has been accepted, the newest first.',
    args: [],
    timeoutSeconds: READ_SECONDS,
    examples: [
      'deliveries list --state dead,retrying --since 1h',
      'deliveries list --trigger deploy --limit 10 --json',
    ],
    declare: declareFilter,
    ask: askForDeliveries,
    show: ({ body }, { paint, width }) => deliveryTable(body as DeliveryList, paint, width),
    explain: explainBadValue,
  },
  'deliveries show': {
    description: 'One delivery with its attempts, its answer and its body.',
    args: [['<id>', DELIVERY]],
    timeoutSeconds: READ_SECONDS,
    ask: ({ client, args: [id = ''], timeoutMs }) => client.ask('GET', deliveryPath(id), timeoutMs),
    explain: explainUnknownDelivery,
    show: ({ body }, { paint }) => deliveryPage(body as DeliveryDetails, paint),
  },
  'deliveries replay': {
    description: 'Have deliveries that have ended run again, with all their attempts before them.',
    examples: ['deliveries replay http:orders/4711'],
    args: [['<ids...>', DELIVERY]],
    timeoutSeconds: CHANGE_SECONDS,
    ask: (situation) => each(situation, 'replay'),
    show: eachLine,
    exitCode: eachCode,
    explain: explainUnknownDelivery,
  },
  'deliveries discard': {
    description: 'End deliveries that wait or are dead, unhandled.',
    args: [['<ids...>', DELIVERY]],
    timeoutSeconds: CHANGE_SECONDS,
    ask: (situation) => each(situation, 'discard'),
    show: eachLine,
    exitCode: eachCode,
    explain: explainUnknownDelivery,
  },
} satisfies Readonly<Record<string, Operation>>;
