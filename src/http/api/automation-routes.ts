// The routes of triggers, agents, fleets, flows, deliveries, runs and approvals. They need the key like the rest of the API.
// Without `spec.triggers` in the configuration they answer that there are none.

import { deliveryFilter } from '../../../actors/automation/operator/delivery-query.ts';
import { manualRun } from '../../../actors/automation/operator/manual-run.ts';
import type { Operator } from '../../../actors/automation/operator/operator.ts';
import { proactiveMessage } from '../../../actors/automation/operator/proactive-message.ts';
import { InvalidQueryError } from '../../../actors/base/errors/errors.ts';
import { isJson } from '../listener/framing.ts';
import type { BodyHandler } from '../listener/seam.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';
import { approvalRoutes } from './approval-routes.ts';
import {
  agentRecord,
  deliveryDetails,
  deliveryRecord,
  runRecord,
  triggerDetails,
  triggerRecord,
} from './automation-records.ts';
import { ANSWERED, type Answering, type ApiHost, type AutomationRoute } from './automation-route.ts';
import { fleetRecord, flowDetails, flowRecord } from './flow-records.ts';
import { runRoutes } from './run-routes.ts';

/** A run, or what is asked of a delivery, is small. */
const MAX_BODY_BYTES = 262_144;

const get = (answer: Asking): AutomationRoute => ({ method: 'GET', status: 200, answer: asking(answer) });
const post = (answer: Asking): AutomationRoute => ({ method: 'POST', status: 200, answer: asking(answer) });
/** What was asked for is kept, and done later. */
const accept = (answer: Asking): AutomationRoute => ({ method: 'POST', status: 202, answer: asking(answer) });

type Asking = (operator: Operator, context: ExchangeContext, id: string, body: unknown) => Promise<unknown>;

const asking =
  (answer: Asking): Answering =>
  ({ operator }, context, id, body) =>
    answer(operator, context, id, body);

/** By the shape of the path, `*` for a segment that is a name. */
export const automationRoutes: ReadonlyMap<string, AutomationRoute> = new Map([
  ...runRoutes,
  ...approvalRoutes,
  ['/triggers', get(async (operator) => ({ triggers: operator.triggers().map(triggerRecord) }))],
  ['/triggers/*', get(async (operator, _, name) => triggerDetails(await operator.details(name)))],
  ['/triggers/*/pause', post(async (operator, _, name) => triggerRecord(await operator.pause(name)))],
  [
    '/triggers/*/resume',
    post(async (operator, _, name) => {
      const status = await operator.resume(name);
      return status === undefined ? { name, state: 'gone', paused: false } : triggerRecord(status);
    }),
  ],
  [
    '/triggers/*/run',
    post(async (operator, { traceparent, principal }, name, body) =>
      runRecord(await operator.run(name, manualRun(body), traceparent, principal)),
    ),
  ],
  [
    '/triggers/*/send',
    accept(async (operator, { traceparent, principal, request }, name, body) => {
      const idempotencyKey = request.headers['idempotency-key'];
      const origin = { trace: traceparent, principal, idempotencyKey };
      return { deliveries: await operator.send(name, proactiveMessage(body), origin) };
    }),
  ],
  ['/agents', get(async (operator) => ({ agents: operator.answering.agents.map(agentRecord) }))],
  ['/fleets', get(async (operator) => ({ fleets: operator.answering.fleets.map(fleetRecord) }))],
  ['/flows', get(async (operator) => ({ flows: operator.answering.flows.map(flowRecord) }))],
  ['/flows/*', get(async (operator, _, name) => flowDetails(operator.flow(name)))],
  [
    '/deliveries',
    get(async (operator, { request }) => {
      const page = await operator.deliveryPage(deliveryFilter(request.query, Date.now()));
      return { deliveries: page.deliveries.map(deliveryRecord), next_before: page.beforeSeq ?? null };
    }),
  ],
  ['/deliveries/*', get(async (operator, _, id) => deliveryDetails(await operator.delivery(id)))],
  ['/deliveries/*/replay', post(async (operator, _, id) => deliveryRecord(await operator.replay(id)))],
  ['/deliveries/*/discard', post(async (operator, _, id) => deliveryRecord(await operator.discard(id)))],
]);

export interface FoundRoute {
  readonly route: AutomationRoute;
  readonly id: string;
}

/** The route of a raw path; undefined when it is none of these. */
export function automationRouteOf(path: string): FoundRoute | undefined {
  const [empty, head = '', segment, verb, ...rest] = path.split('/');
  if (empty !== '' || rest.length > 0 || segment === '') return undefined;
  const shape = `/${head}${segment === undefined ? '' : '/*'}${verb === undefined ? '' : `/${verb}`}`;
  const route = automationRoutes.get(shape);
  const id = segment === undefined ? '' : decoded(segment);
  return route === undefined || id === undefined ? undefined : { route, id };
}

/** Returns the second step of a request to a route. `fail` answers errors. */
export function answerAutomation(
  host: ApiHost,
  found: FoundRoute,
  context: ExchangeContext,
  fail: (error: unknown) => void,
): BodyHandler {
  const { headers } = context.request;
  return (_, body) => {
    if (typeof body === 'string' || body.length > MAX_BODY_BYTES)
      context.refuseBody(typeof body === 'string' ? body : 'too_large', MAX_BODY_BYTES);
    else answered(host, context, found, parsed(headers, body)).catch(fail);
  };
}

async function answered(
  host: ApiHost,
  context: ExchangeContext,
  { route, id }: FoundRoute,
  body: () => unknown,
): Promise<void> {
  const answer = await route.answer(host, context, id, body());
  if (answer === ANSWERED) return;
  const { status } = route;
  context.json(typeof status === 'number' ? status : status(answer), answer);
}

/** Put off, so that what is wrong with it is answered like any other error. */
function parsed(headers: ExchangeContext['request']['headers'], body: Buffer): () => unknown {
  return () => {
    if (body.length === 0) return undefined;
    if (!isJson(headers['content-type'] ?? ''))
      throw new InvalidQueryError('the body should be JSON (Content-Type: application/json)');
    try {
      return JSON.parse(body.toString('utf8')) as unknown;
    } catch {
      throw new InvalidQueryError('the body is not JSON');
    }
  };
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
