// The routes of triggers, agents, fleets, flows, deliveries, runs and approvals. They need the key like the rest of the API.
// Without `spec.triggers` in the configuration they answer that there are none.

import { deliveryFilter } from '../../../actors/automation/operator/delivery-query.ts';
import { manualRun } from '../../../actors/automation/operator/manual-run.ts';
import { proactiveMessage } from '../../../actors/automation/operator/proactive-message.ts';
import { InvalidQueryError } from '../../../actors/base/errors/errors.ts';
import type { TargetKind } from '../../../config/resources/triggers/target.ts';
import { isJson } from '../listener/framing.ts';
import type { BodyHandler } from '../listener/seam.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';
import { approvalRoutes } from './approval-routes.ts';
import { ANSWERED, type ApiHost, type AutomationRoute, get, post } from './automation-route.ts';
import { deliveryDetails, deliveryRecord } from './delivery-records.ts';
import type { DeliveryList } from './delivery-shapes.ts';
import { fullView, RecordView, viewIn } from './record-view.ts';
import { runRoutes } from './run-routes.ts';
import {
  agentRecord,
  agentServers,
  fleetRecord,
  flowDetails,
  flowRecord,
  targetStats,
} from './target-records.ts';
import type { Loaded, LoadedAgent } from './target-shapes.ts';
import { runResponse, triggerDetails, triggerRecord } from './trigger-records.ts';
import type { TriggerList } from './trigger-shapes.ts';

/** A run, or what is asked of a delivery, is small. */
const MAX_BODY_BYTES = 262_144;

/** By the shape of the path, `*` for a segment that is a name. */
export const automationRoutes: ReadonlyMap<string, AutomationRoute> = new Map([
  ...runRoutes,
  ...approvalRoutes,
  [
    '/triggers',
    get(async ({ operator }, { view }): Promise<TriggerList> => {
      return { triggers: operator.triggers().map((each) => triggerRecord(each, view)) };
    }),
  ],
  [
    '/triggers/*',
    get(async ({ operator }, { id, view }) => triggerDetails(await operator.details(id), view)),
  ],
  [
    '/triggers/*/pause',
    post(async ({ operator }, { id, view }) => triggerRecord(await operator.pause(id), view)),
  ],
  [
    '/triggers/*/resume',
    post(async ({ operator }, { id, view }) => {
      const status = await operator.resume(id);
      return status === undefined ? { name: id, state: 'gone', paused: false } : triggerRecord(status, view);
    }),
  ],
  [
    '/triggers/*/run',
    post(async ({ operator }, { context: { traceparent, principal }, id, body }) =>
      runResponse(await operator.run(id, manualRun(body), traceparent, principal)),
    ),
  ],
  [
    '/triggers/*/send',
    {
      method: 'POST',
      // Durable, and sent later.
      status: 202,
      answer: async ({ operator }, { context: { traceparent, principal, request }, id, body }) => {
        const idempotencyKey = request.headers['idempotency-key'];
        const origin = { trace: traceparent, principal, idempotencyKey };
        return { deliveries: await operator.send(id, proactiveMessage(body), origin) };
      },
    },
  ],
  [
    '/agents',
    get(async (host, { view }) => {
      const agents = host.operator.answering.agents.map((agent): LoadedAgent => {
        const loaded = withStats(host, 'agent', agentRecord(agent, view));
        return { ...loaded, servers: agentServers(agent, host, view) };
      });
      return { agents };
    }),
  ],
  [
    '/fleets',
    get(async (host, { view }) => {
      const { fleets } = host.operator.answering;
      return { fleets: fleets.map((fleet) => withStats(host, 'fleet', fleetRecord(fleet, view))) };
    }),
  ],
  [
    '/flows',
    get(async (host, { view }) => {
      const { flows } = host.operator.answering;
      return { flows: flows.map((flow) => withStats(host, 'flow', flowRecord(flow, view))) };
    }),
  ],
  [
    '/flows/*',
    get(async (host, { id, view }) => withStats(host, 'flow', flowDetails(host.operator.flow(id), view))),
  ],
  [
    '/deliveries',
    get(async ({ operator }, { query, view }): Promise<DeliveryList> => {
      const page = await operator.deliveryPage(deliveryFilter(query, Date.now()));
      return {
        deliveries: page.deliveries.map((each) => deliveryRecord(each, view)),
        next_before: page.beforeSeq ?? null,
      };
    }),
  ],
  [
    '/deliveries/*',
    get(async ({ operator, runs }, { id, view }) =>
      deliveryDetails(await operator.delivery(id), await runs.hasJournal(id), view),
    ),
  ],
  [
    '/deliveries/*/replay',
    post(async ({ operator }, { id, view }) => deliveryRecord(await operator.replay(id), view)),
  ],
  [
    '/deliveries/*/discard',
    post(async ({ operator }, { id, view }) => deliveryRecord(await operator.discard(id), view)),
  ],
]);

function withStats<Target extends { readonly name: string }>(
  { feed }: ApiHost,
  kind: TargetKind,
  target: Target,
): Loaded<Target> {
  return { ...target, stats: targetStats(feed.counters.of({ kind, name: target.name })) };
}

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
  const { isBrief, rest: query } = viewIn(context.request.query, context.isFromInspector);
  const view = isBrief ? new RecordView(host.redactor) : fullView;
  const answer = await route.answer(host, { context, id, body: body(), query, view });
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
