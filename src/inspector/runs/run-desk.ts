// What the inspector answers about runs, deliveries, approvals, agents, fleets and flows, and what may be done with them. Loaded when a page asks: a gateway without
// triggers has none of it in memory.
//
// RDK1  at most MAX_VIEWERS pages watch a run at a time: a page that opens streams in a loop must not use up the listener (A8).

import type { AgentCounts } from '../../../actors/agents/runs/agent-counters.ts';
import { runFilter, stepsQuery } from '../../../actors/agents/runs/run-query.ts';
import type { RunningAutomation } from '../../../actors/automation/running-automation.ts';
import { NotFoundError, OverloadedError } from '../../../actors/base/errors/errors.ts';
import type { Gateway } from '../../../actors/gateway/gateway.ts';
import type { Principal } from '../../../actors/identity/principal.ts';
import type { Target } from '../../../config/resources/triggers/target.ts';
import type { HttpStream } from '../../http/listener/seam.ts';
import type { AgentList, FlowDrawing, RunDetails, RunList, RunStep } from '../wire/run-wire.ts';
import { agentRows } from './agent-rows.ts';
import { ApprovalDesk } from './approval-desk.ts';
import { DeliveryDesk } from './delivery-desk.ts';
import { fleetRow, flowDrawing, flowRow } from './plan-rows.ts';
import { runDetails, runRow, stepRow } from './run-rows.ts';
import { RunViewer } from './run-viewer.ts';

const MAX_VIEWERS = 64;
const MAX_RUNS = 200;

export class RunDesk {
  readonly #gateway: Pick<Gateway, 'redactor' | 'mcp'>;
  readonly #automation: RunningAutomation;
  readonly #approvals: ApprovalDesk;
  readonly #deliveries: DeliveryDesk;
  readonly #viewers = new Set<RunViewer>();

  constructor(gateway: Pick<Gateway, 'redactor' | 'mcp'>, automation: RunningAutomation) {
    this.#gateway = gateway;
    this.#automation = automation;
    this.#approvals = new ApprovalDesk(automation.approvals, gateway.redactor);
    this.#deliveries = new DeliveryDesk(automation, gateway.redactor);
  }

  /** What is asked for by GET; undefined where nothing is. Rejects as what it asks does. */
  async read([head, id]: readonly string[], query: string): Promise<object | undefined> {
    if (head === 'agents' && id === undefined) return this.#agents();
    if (head === 'approvals' && id === undefined) return this.#approvals.list(query);
    if (head === 'flows' && id !== undefined) return this.#flow(id);
    if (head === 'deliveries')
      return id === undefined ? this.#deliveries.list(query) : this.#deliveries.one(id);
    if (head !== 'runs') return undefined;
    return id === undefined ? this.#list(query) : this.#one(id, query);
  }

  /** What the words of a path ask for; what it gives is the answer. Undefined when there is no such thing. */
  action(
    [head, id = '', verb]: readonly string[],
    body: Buffer,
    principal: Principal,
  ): (() => Promise<object>) | undefined {
    if (head === 'approvals' && (verb === 'approve' || verb === 'deny'))
      return () => this.#approvals.decide(id, verb, body, principal);
    if (head === 'deliveries' && (verb === 'replay' || verb === 'discard'))
      return () => this.#deliveries.act(id, verb);
    if (head !== 'runs' || (verb !== 'cancel' && verb !== 'retry')) return undefined;
    return async () => runRow(await this.#automation.runs[verb](id), this.#gateway.redactor);
  }

  /** Tells one who watches that run; gives the way to stop that. Rejects with NotFoundError and OverloadedError. */
  async watch(id: string, begin: () => HttpStream): Promise<() => void> {
    // Before anything is answered.
    await this.#automation.runs.run(id);
    if (this.#viewers.size >= MAX_VIEWERS)
      throw new OverloadedError('too many watch runs already; close one of their pages');
    const { runs, store, feed } = this.#automation;
    const { redactor } = this.#gateway;
    const onEnd = () => this.#viewers.delete(viewer);
    const viewer: RunViewer = new RunViewer({ runs, store, feed, redactor, onEnd }, id, begin);
    this.#viewers.add(viewer);
    return () => viewer.close();
  }

  async #list(query: string): Promise<RunList> {
    const filter = runFilter(query);
    const { runs, beforeSeq } = await this.#automation.runs.list({
      ...filter,
      limit: Math.min(filter.limit, MAX_RUNS),
    });
    const rows = runs.map((run) => runRow(run, this.#gateway.redactor));
    return { at: Date.now(), runs: rows, has_more: beforeSeq !== undefined };
  }

  async #one(id: string, query: string): Promise<RunPage> {
    const { after } = stepsQuery(query);
    const run = runDetails(await this.#automation.runs.run(id), this.#gateway.redactor);
    const { steps, nextAfter } = await this.#automation.runs.steps(id, { isRaw: false, after });
    const rows = steps.flatMap((step) => ('row' in step ? [] : [stepRow(step)]));
    return { at: Date.now(), run, steps: rows, next_after: nextAfter ?? null };
  }

  #agents(): AgentList {
    const { targets } = this.#automation;
    const { agents, fleets, flows } = targets.loaded;
    const { redactor, mcp } = this.#gateway;
    const { servers, agentServers } = mcp;
    return {
      at: Date.now(),
      agents: agentRows(agents, (name) => this.#countsOf({ kind: 'agent', name }), {
        servers,
        agentServers,
        redactor,
      }),
      fleets: fleets.map((fleet) =>
        fleetRow(fleet, this.#countsOf({ kind: 'fleet', name: fleet.name }), redactor),
      ),
      flows: flows.map((flow) => flowRow(flow, this.#countsOf({ kind: 'flow', name: flow.name }), redactor)),
    };
  }

  /** Throws NotFoundError. */
  #flow(name: string): FlowDrawing {
    const { targets } = this.#automation;
    const flow = targets.loaded.flows.find((each) => each.name === name);
    if (flow === undefined) throw new NotFoundError(`there is no flow ${JSON.stringify(name.slice(0, 64))}`);
    return flowDrawing(flow, this.#countsOf({ kind: 'flow', name }), this.#gateway.redactor);
  }

  #countsOf(target: Target): AgentCounts {
    return this.#automation.feed.counters.of(target);
  }
}

interface RunPage {
  readonly at: number;
  readonly run: RunDetails;
  readonly steps: readonly RunStep[];
  readonly next_after: number | null;
}
