// `deliveries`: lists, shows, replays and discards deliveries, which are accepted events.

import type { DeliveryDetails, DeliveryList, DeliveryRecord } from '../../http/api/delivery-shapes.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { ApiProblem, type GatewayResponse } from '../api/client.ts';
import { requestApprovals } from '../api/pending-approvals.ts';
import { deliveryLine, deliveryPage, deliveryTable } from '../views/automation.ts';
import { declareFilter, requestDeliveries } from './list-deliveries.ts';
import { type CommandContext, operationCommands } from './operation.ts';
import { explainBadValue } from './query-options.ts';

const READ_SECONDS = 10;
const CHANGE_SECONDS = 30;

const deliveryPath = (...segments: readonly string[]) =>
  ['deliveries', ...segments.map(encodeURIComponent)].join('/');

/** Result for an unchanged delivery, among other results. */
interface RefusedChange {
  readonly id: string;
  readonly error: string;
}

/** Sends one request per id, in order. Returns the results, including failures of single deliveries. */
async function requestEach(
  { client, args, timeoutMs }: CommandContext,
  verb: string,
): Promise<GatewayResponse> {
  const bodies: unknown[] = [];
  for (const id of args) {
    try {
      bodies.push((await client.request('POST', deliveryPath(id, verb), timeoutMs)).body);
    } catch (error) {
      const isAboutDelivery = error instanceof ApiProblem && [404, 409].includes(error.response?.status ?? 0);
      if (!isAboutDelivery || args.length === 1) throw error;
      const { message } = error;
      bodies.push({ id, error: message } satisfies RefusedChange);
    }
  }
  return { status: 200, body: bodies, text: JSON.stringify(bodies) };
}

const isRefused = (row: DeliveryRecord | RefusedChange): row is RefusedChange => 'error' in row;

const resultLines = ({ body }: GatewayResponse) =>
  (body as readonly (DeliveryRecord | RefusedChange)[]).map((row) =>
    isRefused(row) ? `${printable(row.id)}: ${printable(row.error)}` : deliveryLine(row),
  );

const resultCode = ({ body }: GatewayResponse) =>
  (body as readonly (DeliveryRecord | RefusedChange)[]).some(isRefused) ? 1 : 0;

async function explainUnknownDelivery(
  problem: ApiProblem,
  { args: [id] }: CommandContext,
): Promise<ApiProblem> {
  const isUnknown = problem.response?.status === 404 && /no delivery/.test(problem.message);
  if (!isUnknown || id === undefined) return problem;
  const message = `there is no delivery ${JSON.stringify(id)}; "deliveries" lists the existing ones; records are deleted after the retention time`;
  return new ApiProblem(message, { response: problem.response });
}

export const deliveryCommands = operationCommands({
  list: {
    timeoutSeconds: READ_SECONDS,
    examples: [
      'deliveries --state dead,retrying --since 1h',
      'deliveries --trigger deploy --limit 10 --json',
    ],
    declare: declareFilter,
    request: requestDeliveries,
    show: async ({ body }, context) => {
      const list = body as DeliveryList;
      const approvals = await requestApprovals(list.deliveries, context);
      return deliveryTable(list, approvals, context.paint, context.width);
    },
    explain: explainBadValue,
  },
  show: {
    examples: ['deliveries show http:orders/4711'],
    timeoutSeconds: READ_SECONDS,
    request: ({ client, args: [id = ''], timeoutMs }) => client.request('GET', deliveryPath(id), timeoutMs),
    explain: explainUnknownDelivery,
    show: async ({ body }, context) => {
      const delivery = body as DeliveryDetails;
      return deliveryPage(delivery, await requestApprovals([delivery], context), context.paint);
    },
  },
  replay: {
    examples: ['deliveries replay http:orders/4711'],
    timeoutSeconds: CHANGE_SECONDS,
    request: (context) => requestEach(context, 'replay'),
    show: resultLines,
    exitCode: resultCode,
    explain: explainUnknownDelivery,
  },
  discard: {
    examples: ['deliveries discard http:orders/4711'],
    timeoutSeconds: CHANGE_SECONDS,
    request: (context) => requestEach(context, 'discard'),
    show: resultLines,
    exitCode: resultCode,
    explain: explainUnknownDelivery,
  },
});
