// Routes of runs (/runs), and routes that start agents, fleets or flows manually
// (/agents/:name/runs).

import { runFilter, runRequest, stepsQuery } from '../../../actors/agents/runs/query.ts';
import type { RunState } from '../../../actors/agents/runs/state.ts';
import { InvalidQueryError } from '../../../actors/base/errors/errors.ts';
import { type TargetKind, targetKinds } from '../../../config/resources/triggers/target.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';
import {
  type ApiHost,
  type AutomationRoute,
  getRoute,
  postRoute,
  RESPONDED,
  type ShapedRoute,
} from './automation-route.ts';
import { runDetails, runRecord, runResultRecord } from './run-records.ts';
import type { RunDetails, RunList, RunResultRecord } from './run-shapes.ts';
import { streamRun } from './run-stream.ts';

/** States of runs for which a start returns status 202. */
const UNFINISHED: readonly RunState[] = ['queued', 'running'];
const statusOfRun = (run: unknown) => (UNFINISHED.includes((run as RunResultRecord).state) ? 202 : 200);

export const runRoutes: readonly ShapedRoute[] = [
  [
    '/runs',
    getRoute(async ({ runs }, { query, view }): Promise<RunList> => {
      const page = await runs.list(runFilter(query));
      return { runs: page.runs.map((run) => runRecord(run, view)), next_before: page.beforeSeq ?? null };
    }),
  ],
  [
    '/runs/*',
    getRoute(async ({ runs }, { id, query, view }): Promise<RunDetails> => {
      const options = stepsQuery(query);
      if (options.isRaw && view.isBrief)
        throw new InvalidQueryError('the brief view has no raw steps; omit raw');
      const run = await runs.answer(id);
      return runDetails(run, await runs.steps(id, options), await runs.parts(run), view);
    }),
  ],
  ['/runs/*/cancel', postRoute(async ({ runs }, { id, view }) => runRecord(await runs.cancel(id), view))],
  ['/runs/*/retry', postRoute(async ({ runs }, { id, view }) => runRecord(await runs.retry(id), view))],
  [
    '/runs/*/events',
    getRoute(async (host, { context, id, view }) => {
      if (refuseStreamWhileDraining(host, context)) return RESPONDED;
      await streamRun(context, host.heartbeat, view, (begin) =>
        host.runs.watch(id, context.principal, begin),
      );
      return RESPONDED;
    }),
  ],
  ...targetKinds.map((kind) => [`/${kind}s/*/runs`, startRoute(kind)] as const),
];

function startRoute(kind: TargetKind): AutomationRoute {
  return {
    method: 'POST',
    role: 'user',
    status: statusOfRun,
    handle: async (host, { context, id: name, body, view }) => {
      const { request, traceparent: trace, principal } = context;
      const options = runRequest(kind, body);
      const target = { kind, name };
      const origin = { trace, principal, idempotencyKey: request.headers['idempotency-key'] };
      if (!wantsStream(request.headers.accept))
        return runResultRecord(await host.runs.start(target, options, origin), view);
      if (refuseStreamWhileDraining(host, context)) return RESPONDED;
      await streamRun(context, host.heartbeat, view, (begin) =>
        host.runs.startAndWatch(target, options, origin, begin),
      );
      return RESPONDED;
    },
  };
}

/** Refuses a stream while draining, because it would delay the shutdown. */
function refuseStreamWhileDraining({ isDraining }: ApiHost, context: ExchangeContext): boolean {
  if (isDraining) context.refuseWhileDraining();
  return isDraining;
}

const wantsStream = (accept = '') => /(?:^|,)\s*text\/event-stream\s*(?:;|,|$)/i.test(accept);
