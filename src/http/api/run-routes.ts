// The routes of runs, and of agents, fleets and flows that are asked without a trigger: /runs, /agents/:name/runs.

import { runFilter, runRequest, stepsQuery } from '../../../actors/agents/runs/run-query.ts';
import type { RunState } from '../../../actors/agents/runs/run-state.ts';
import { InvalidQueryError } from '../../../actors/base/errors/errors.ts';
import { type TargetKind, targetKinds } from '../../../config/resources/triggers/target.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';
import {
  ANSWERED,
  type ApiHost,
  type AutomationRoute,
  get,
  post,
  type ShapedRoute,
} from './automation-route.ts';
import { answerRecord, runDetails, runRecord } from './run-records.ts';
import type { RunAnswer, RunDetails, RunList } from './run-shapes.ts';
import { streamRun } from './run-stream.ts';

/** What goes on is accepted, and no more. */
const GOES_ON: readonly RunState[] = ['queued', 'running'];
const statusOfRun = (answer: unknown) => (GOES_ON.includes((answer as RunAnswer).state) ? 202 : 200);

export const runRoutes: readonly ShapedRoute[] = [
  [
    '/runs',
    get(async ({ runs }, { query, view }): Promise<RunList> => {
      const page = await runs.list(runFilter(query));
      return { runs: page.runs.map((run) => runRecord(run, view)), next_before: page.beforeSeq ?? null };
    }),
  ],
  [
    '/runs/*',
    get(async ({ runs }, { id, query, view }): Promise<RunDetails> => {
      const asked = stepsQuery(query);
      if (asked.isRaw && view.isBrief)
        throw new InvalidQueryError('the brief view has no raw steps; omit raw');
      const run = await runs.answer(id);
      return runDetails(run, await runs.steps(id, asked), await runs.parts(run), view);
    }),
  ],
  ['/runs/*/cancel', post(async ({ runs }, { id, view }) => runRecord(await runs.cancel(id), view))],
  ['/runs/*/retry', post(async ({ runs }, { id, view }) => runRecord(await runs.retry(id), view))],
  [
    '/runs/*/events',
    get(async (host, { context, id, view }) => {
      if (refusedStream(host, context)) return ANSWERED;
      await streamRun(context, host.heartbeat, view, (begin) => host.runs.watch(id, begin));
      return ANSWERED;
    }),
  ],
  ...targetKinds.map((kind) => [`/${kind}s/*/runs`, asking(kind)] as const),
];

function asking(kind: TargetKind): AutomationRoute {
  return {
    method: 'POST',
    status: statusOfRun,
    answer: async (host, { context, id: name, body, view }) => {
      const { request, traceparent: trace, principal } = context;
      const asked = runRequest(kind, body);
      const target = { kind, name };
      const origin = { trace, principal, idempotencyKey: request.headers['idempotency-key'] };
      if (!wantsStream(request.headers.accept))
        return answerRecord(await host.runs.ask(target, asked, origin), view);
      if (refusedStream(host, context)) return ANSWERED;
      await streamRun(context, host.heartbeat, view, (begin) =>
        host.runs.askAndWatch(target, asked, origin, begin),
      );
      return ANSWERED;
    },
  };
}

/** A stream would hold up the end of the gateway. */
function refusedStream({ isDraining }: ApiHost, context: ExchangeContext): boolean {
  if (isDraining) context.refuseWhileDraining();
  return isDraining;
}

const wantsStream = (accept = '') => /(?:^|,)\s*text\/event-stream\s*(?:;|,|$)/i.test(accept);
