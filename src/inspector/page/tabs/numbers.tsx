// Figures for a server, a trigger, the conversations, the outbox (messages to platforms) or the whole
// gateway, now and in the last five minutes.

import type { InstallRecord } from '../../../http/api/server-shapes.ts';
import { triggerAt } from '../address.ts';
import { deliveryFigures, triggerFigures, workAt, workFigures } from '../automation-figures.ts';
import { type NumbersHistory, seriesOf } from '../feed/history.ts';
import type { PageState, ServerView } from '../feed/page-state.ts';
import { ALL } from '../feed/page-store.ts';
import { count, ms, span, timeUntil } from '../format.ts';
import { Spark } from './spark.tsx';

interface NumbersTabProps {
  readonly state: PageState;
  readonly history: NumbersHistory;
  /** Undefined if no server is selected. */
  readonly server: ServerView | undefined;
  readonly address: string;
}

/** Returns the history key, the figures and the available charts. */
function subjectOf({ state, server, address }: Omit<NumbersTabProps, 'history'>): Subject {
  const { at, totals, triggers } = state;
  if (server !== undefined)
    return {
      id: server.id,
      figures: serverFigures(server, at),
      noun: 'Requests',
      hasLoad: true,
      hasLatency: true,
    };
  const trigger = triggers.get(triggerAt(address) ?? '');
  if (trigger !== undefined)
    return {
      id: address,
      figures: triggerFigures(trigger, at),
      noun: 'Events',
      hasLoad: false,
      hasLatency: false,
    };
  const work = workAt(totals?.automation, address);
  if (work !== undefined && totals?.automation != null)
    return {
      id: address,
      figures: workFigures(totals.automation, work),
      noun: 'Turns',
      hasLoad: true,
      hasLatency: true,
    };
  return { id: ALL, figures: allFigures(state), noun: 'Requests', hasLoad: true, hasLatency: false };
}

interface Subject {
  readonly id: string;
  readonly figures: [string, string][];
  readonly noun: string;
  /** True if the history has the requests in flight and waiting. */
  readonly hasLoad: boolean;
  readonly hasLatency: boolean;
}

export function NumbersTab({ state, history, server, address }: NumbersTabProps) {
  const { id, figures, noun, hasLoad, hasLatency } = subjectOf({ state, server, address });
  const series = seriesOf(history.samples(id), state.at);
  const perSecond = (value: number) => `${count(value)}/s`;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
    <div class="scroll numbers" tabIndex={0}>
      <dl class="figures">
        {figures.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <Spark
        title={`${noun}, with failed ones`}
        values={series.perSecond}
        second={series.failedPerSecond}
        text={perSecond}
      />
      {hasLoad && <Spark title="In flight" values={series.inFlight} text={count} />}
      {hasLoad && <Spark title="Waiting" values={series.waiting} text={count} />}
      {hasLatency && <Spark title="Latency, p95" values={series.p95} text={ms} />}
    </div>
  );
}

function serverFigures(server: ServerView, now: number): [string, string][] {
  const { latency_ms, next_retry_at, uptime_seconds } = server;
  const upMs = uptime_seconds === 0 ? undefined : uptime_seconds * 1000 + (now - server.at);
  const hasNoFutureRetry = next_retry_at === null || Date.parse(next_retry_at) < now;
  const retry = hasNoFutureRetry ? '–' : `in ${timeUntil(next_retry_at, now)}`;
  return [
    ...(server.installing === null ? [] : [installFigure(server.installing)]),
    ['in flight', count(server.in_flight)],
    ['waiting', count(server.waiting)],
    ['requests', count(server.requests)],
    ['failed', count(server.failed)],
    ['tool errors', count(server.tool_errors)],
    ['p50', ms(latency_ms.p50)],
    ['p95', ms(latency_ms.p95)],
    ['p99', ms(latency_ms.p99)],
    ['restarts', count(server.restarts)],
    [server.is_parked ? 'parked, next retry' : 'next retry', retry],
    ['up', upMs === undefined ? '–' : span(upMs)],
  ];
}

function installFigure({ program, is_waiting, lines, last_line }: InstallRecord): [string, string] {
  const progress = is_waiting
    ? 'queued'
    : `${count(lines)} lines${last_line === null ? '' : `, ${last_line}`}`;
  return ['installing', `${program}, ${progress}`];
}

function allFigures({ totals, servers, at }: PageState): [string, string][] {
  if (totals === null) return [];
  const states = new Map<string, number>();
  for (const { state } of servers.values()) states.set(state, (states.get(state) ?? 0) + 1);
  return [
    ['servers', count(servers.size)],
    ...[...states].sort().map(([state, number]): [string, string] => [`– ${state}`, count(number)]),
    ['in flight', count(totals.requests.in_flight)],
    ['requests', count(totals.requests.total)],
    ['failed', count(totals.requests.failed)],
    ['tool errors', count(totals.requests.tool_errors)],
    ['sessions', count(totals.sessions)],
    ['listening', count(totals.listens)],
    ['dead letters', count(totals.dead_letters)],
    ...(totals.automation === null ? [] : deliveryFigures(totals.automation.deliveries)),
    ['watching', count(totals.viewers)],
    ['up', span(at - totals.started_at)],
  ];
}
