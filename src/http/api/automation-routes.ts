// Routes of triggers, agents, fleets, flows, deliveries, runs and approvals. If the gateway has no
// automation, their paths return 404.

import { deliveryFilter } from '../../../actors/automation/operator/delivery-query.ts';
import { manualRun } from '../../../actors/automation/operator/manual-run.ts';
import { proactiveMessage } from '../../../actors/automation/operator/proactive-message.ts';
import { InvalidQueryError } from '../../../actors/base/errors/errors.ts';
import { escapeHidden } from '../../../actors/base/errors/hidden-characters.ts';
import { parseJson } from '../../../config/reader/json-text.ts';
import type { TargetKind } from '../../../config/resources/triggers/target.ts';
import { isJson } from '../listener/framing.ts';
import type { BodyHandler } from '../listener/seam.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';
import { approvalRoutes } from './approval-routes.ts';
import { type ApiHost, type AutomationRoute, getRoute, postRoute, RESPONDED } from './automation-route.ts';
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

/** Maximum request body size. */
const MAX_BODY_BYTES = 262_144;

/** Routes by path shape; `*` is a name. */
export const automationRoutes: ReadonlyMap<string, AutomationRoute> = new Map([
  ...runRoutes,
  ...approvalRoutes,
  [
    '/triggers',
    getRoute(async ({ operator }, { view }): Promise<TriggerList> => {
      return { triggers: operator.triggers().map((each) => triggerRecord(each, view)) };
    }),
  ],
  [
    '/triggers/*',
    getRoute(async ({ operator }, { id, view }) => triggerDetails(await operator.details(id), view)),
  ],
  [
    '/triggers/*/pause',
    postRoute(async ({ operator }, { id, view }) => triggerRecord(await operator.pause(id), view)),
  ],
  [
    '/triggers/*/resume',
    postRoute(async ({ operator }, { id, view }) => {
      const status = await operator.resume(id);
      return status === undefined ? { name: id, state: 'gone', paused: false } : triggerRecord(status, view);
    }),
  ],
  [
    '/triggers/*/run',
    {
      method: 'POST',
      role: 'user',
      status: 200,
      handle: async ({ operator }, { context: { traceparent, principal }, id, body }) =>
        runResponse(await operator.run(id, manualRun(body), traceparent, principal)),
    },
  ],
  [
    '/triggers/*/send',
    {
      method: 'POST',
      // The message is stored, and sent later.
      status: 202,
      handle: async ({ operator }, { context: { traceparent, principal, request }, id, body }) => {
        const idempotencyKey = request.headers['idempotency-key'];
        const origin = { trace: traceparent, principal, idempotencyKey };
        return { deliveries: await operator.send(id, proactiveMessage(body), origin) };
      },
    },
  ],
  [
    '/agents',
    getRoute(async (host, { view }) => {
      const agents = host.operator.loadedTargets.agents.map((agent): LoadedAgent => {
        const loaded = withStats(host, 'agent', agentRecord(agent, view));
        return { ...loaded, servers: agentServers(agent, host, view) };
      });
      return { agents };
    }),
  ],
  [
    '/fleets',
    getRoute(async (host, { view }) => {
      const { fleets } = host.operator.loadedTargets;
      return { fleets: fleets.map((fleet) => withStats(host, 'fleet', fleetRecord(fleet, view))) };
    }),
  ],
  [
    '/flows',
    getRoute(async (host, { view }) => {
      const { flows } = host.operator.loadedTargets;
      return { flows: flows.map((flow) => withStats(host, 'flow', flowRecord(flow, view))) };
    }),
  ],
  [
    '/flows/*',
    getRoute(async (host, { id, view }) =>
      withStats(host, 'flow', flowDetails(host.operator.flow(id), view)),
    ),
  ],
  [
    '/deliveries',
    getRoute(async ({ operator }, { query, view }): Promise<DeliveryList> => {
      const page = await operator.deliveryPage(deliveryFilter(query, Date.now()));
      return {
        deliveries: page.deliveries.map((each) => deliveryRecord(each, view)),
        next_before: page.beforeSeq ?? null,
      };
    }),
  ],
  [
    '/deliveries/*',
    getRoute(async ({ operator, runs }, { id, view }) =>
      deliveryDetails(await operator.delivery(id), await runs.hasJournal(id), view),
    ),
  ],
  [
    '/deliveries/*/replay',
    postRoute(async ({ operator }, { id, view }) => deliveryRecord(await operator.replay(id), view)),
  ],
  [
    '/deliveries/*/discard',
    postRoute(async ({ operator }, { id, view }) => deliveryRecord(await operator.discard(id), view)),
  ],
]);

function withStats<Target extends { readonly name: string }>(
  { feed }: ApiHost,
  kind: TargetKind,
  target: Target,
): Loaded<Target> {
  return { ...target, stats: targetStats(feed.counters.of({ kind, name: target.name })) };
}

export interface MatchedRoute {
  readonly route: AutomationRoute;
  readonly id: string;
}

/** Returns the route for a raw path; undefined unless the path belongs to the automation. */
export function automationRouteOf(path: string): MatchedRoute | undefined {
  const [empty, head = '', segment, verb, ...rest] = path.split('/');
  if (empty !== '' || rest.length > 0 || segment === '') return undefined;
  const shape = `/${head}${segment === undefined ? '' : '/*'}${verb === undefined ? '' : `/${verb}`}`;
  const route = automationRoutes.get(shape);
  const id = segment === undefined ? '' : decodeSegment(segment);
  return route === undefined || id === undefined ? undefined : { route, id };
}

/** Returns the BodyHandler for a route. `fail` responds with an error. */
export function handleAutomation(
  host: ApiHost,
  match: MatchedRoute,
  context: ExchangeContext,
  fail: (error: unknown) => void,
): BodyHandler {
  const { headers } = context.request;
  return (_, body) => {
    if (typeof body === 'string' || body.length > MAX_BODY_BYTES)
      context.refuseBody(typeof body === 'string' ? body : 'too_large', MAX_BODY_BYTES);
    else respond(host, context, match, bodyParser(headers, body)).catch(fail);
  };
}

async function respond(
  host: ApiHost,
  context: ExchangeContext,
  { route, id }: MatchedRoute,
  body: () => unknown,
): Promise<void> {
  const { isBrief, rest: query } = viewIn(context.request.query, context.isFromInspector);
  const view = isBrief ? new RecordView(host.redactor) : fullView;
  const response = await route.handle(host, { context, id, body: body(), query, view });
  if (response === RESPONDED) return;
  const { status } = route;
  const text = JSON.stringify(response);
  context.jsonText(
    typeof status === 'number' ? status : status(response),
    route.escapesHidden === true ? escapeHidden(text) : text,
  );
}

/** Returns a function that parses the body. It throws inside the error handling of the route. */
function bodyParser(headers: ExchangeContext['request']['headers'], body: Buffer): () => unknown {
  return () => {
    if (body.length === 0) return undefined;
    if (!isJson(headers['content-type'] ?? ''))
      throw new InvalidQueryError('the body must be JSON (Content-Type: application/json)');
    try {
      return parseJson(body.toString('utf8'));
    } catch {
      throw new InvalidQueryError('the body is not JSON');
    }
  };
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
