// The routes of runs, and of agents, fleets and flows that are asked without a trigger: /runs, /agents/:name/runs.

import { runFilter, runRequest, stepsQuery } from '../../../actors/agents/runs/run-query.ts';
import type { RunState } from '../../../actors/agents/runs/run-state.ts';
import { type TargetKind, targetKinds } from '../../../config/resources/triggers/target.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';
import { ANSWERED, type Answering, type ApiHost, type AutomationRoute } from './automation-route.ts';
import { answerRecord, runDetails, runRecord } from './run-records.ts';
import { streamRun } from './run-stream.ts';

const get = (answer: Answering): AutomationRoute => ({ method: 'GET', status: 200, answer });
const post = (answer: Answering): AutomationRoute => ({ method: 'POST', status: 200, answer });

/** What goes on is accepted, and no more. */
const GOES_ON: readonly RunState[] = ['queued', 'running'];
const statusOfRun = (answer: unknown) =>
  GOES_ON.includes((answer as ReturnType<typeof answerRecord>).state) ? 202 : 200;

export const runRoutes: readonly (readonly [shape: string, route: AutomationRoute])[] = [
  [
    '/runs',
    get(async ({ runs }, { request }) => {
      const page = await runs.list(runFilter(request.query));
      return { runs: page.runs.map(runRecord), next_before: page.beforeSeq ?? null };
    }),
  ],
  [
    '/runs/*',
    get(async ({ runs }, { request }, id) => {
      const query = stepsQuery(request.query);
      const run = await runs.answer(id);
      return runDetails(run, await runs.steps(id, query), await runs.parts(run));
    }),
  ],
  ['/runs/*/cancel', post(async ({ runs }, _, id) => runRecord(await runs.cancel(id)))],
  ['/runs/*/retry', post(async ({ runs }, _, id) => runRecord(await runs.retry(id)))],
  [
    '/runs/*/events',
    get(async (host, context, id) => {
      if (refusedStream(host, context)) return ANSWERED;
      await streamRun(context, host.heartbeat, (begin) => host.runs.watch(id, begin));
      return ANSWERED;
    }),
  ],
  ...targetKinds.map((kind) => [`/${kind}s/*/runs`, asking(kind)] as const),
];

function asking(kind: TargetKind): AutomationRoute {
  return {
    method: 'POST',
    status: statusOfRun,
    answer: async (host, context, name, body) => {
      const { request, traceparent: trace, principal } = context;
      const asked = runRequest(kind, body);
      const target = { kind, name };
      const origin = { trace, principal, idempotencyKey: request.headers['idempotency-key'] };
      if (!wantsStream(request.headers.accept))
        return answerRecord(await host.runs.ask(target, asked, origin));
      if (refusedStream(host, context)) return ANSWERED;
      await streamRun(context, host.heartbeat, (begin) =>
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
