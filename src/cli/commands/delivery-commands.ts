// `deliveries`: commands for accepted events.

import type { DeliveryDetails, DeliveryList, DeliveryRecord } from '../../http/api/delivery-shapes.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { ApiProblem, type ApiResponse } from '../api/api-client.ts';
import { deliveryLine, deliveryPage, deliveryTable } from '../views/automation-views.ts';
import { askForDeliveries, declareFilter } from './list-deliveries.ts';
import { explainBadValue } from './list-options.ts';
import { operationCommands, type Situation } from './operation.ts';

const READ_SECONDS = 10;
const CHANGE_SECONDS = 30;

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
  const message = `there is no delivery ${JSON.stringify(id)}; "deliveries" shows those that there are, and their records end with the retention time`;
  return new ApiProblem(message, false, problem.answer);
}

export const deliveryCommands = operationCommands({
  list: {
    timeoutSeconds: READ_SECONDS,
    examples: [
      'deliveries --state dead,retrying --since 1h',
      'deliveries --trigger deploy --limit 10 --json',
    ],
    declare: declareFilter,
    ask: askForDeliveries,
    show: ({ body }, { paint, width }) => deliveryTable(body as DeliveryList, paint, width),
    explain: explainBadValue,
  },
  show: {
    timeoutSeconds: READ_SECONDS,
    ask: ({ client, args: [id = ''], timeoutMs }) => client.ask('GET', deliveryPath(id), timeoutMs),
    explain: explainUnknownDelivery,
    show: ({ body }, { paint }) => deliveryPage(body as DeliveryDetails, paint),
  },
  replay: {
    examples: ['deliveries replay http:orders/4711'],
    timeoutSeconds: CHANGE_SECONDS,
    ask: (situation) => each(situation, 'replay'),
    show: eachLine,
    exitCode: eachCode,
    explain: explainUnknownDelivery,
  },
  discard: {
    timeoutSeconds: CHANGE_SECONDS,
    ask: (situation) => each(situation, 'discard'),
    show: eachLine,
    exitCode: eachCode,
    explain: explainUnknownDelivery,
  },
});
