// What goes from the gateway to a page about runs, approvals and agents, for both ends, as feed-wire.ts has it for the rest. Types only.
// Field names are those of the JSON; times are epoch milliseconds. Texts are redacted and cut before they leave.

import type { RunState } from '../../../actors/agents/runs/run-state.ts';
import type { ShownStep } from '../../../actors/agents/runs/step-for-people.ts';
import type { ApprovalState } from '../../../actors/store/approval.ts';

/** One line of the list of runs. */
export interface RunRow {
  readonly id: string;
  readonly kind: 'agent' | 'command' | 'fleet' | 'flow';
  /** Of the agent, or the command. */
  readonly name: string;
  readonly state: RunState;
  readonly waiting_for: 'approval' | 'timer' | null;
  /** When a timer wakes it at the latest. */
  readonly until: number | null;
  readonly trigger: string | null;
  /** Key of its mailbox. */
  readonly conversation: string;
  /** PROVIDER:MODEL that answered last. */
  readonly model: string | null;
  readonly steps: number;
  readonly iterations: number;
  readonly tool_calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Null where no price is known. */
  readonly cost: number | null;
  readonly worked_ms: number;
  readonly attempts: number;
  readonly received_at: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly next_attempt_at: number | null;
  readonly note: string | null;
}

/** The newest first. */
export interface RunList {
  readonly at: number;
  readonly runs: readonly RunRow[];
  /** There may be older ones. */
  readonly has_more: boolean;
}

/** A run as it is shown by itself. */
export interface RunDetails extends RunRow {
  /** Of one without a journal: with one it stands in the last step. */
  readonly answer: string | null;
  /** Of its last attempts. */
  readonly failures: readonly { readonly attempt: number; readonly at: number; readonly note: string }[];
}

/** As it is shown everywhere, by the names that JSON has here. */
export interface RunStep extends Omit<ShownStep, 'kind' | 'tokens' | 'tookMs'> {
  /** A page may be older than the gateway, and not know it. */
  readonly kind: string;
  readonly input_tokens?: number | undefined;
  readonly output_tokens?: number | undefined;
  readonly took_ms?: number | undefined;
}

/** What a viewer of one run is told. */
export type RunMessage =
  | {
      readonly kind: 'run';
      readonly data: {
        readonly at: number;
        readonly run: RunDetails;
        /** The steps that were told before are those of a run that was given up for this one. */
        readonly is_anew: boolean;
      };
    }
  /** In order, each once. */
  | { readonly kind: 'steps'; readonly data: { readonly steps: readonly RunStep[] } }
  /** What a run of a flow or a fleet goes on by; before anything of its nodes or members. */
  | { readonly kind: 'plan'; readonly data: RunPlan }
  /** Of nodes and members those that are new or not as they were. */
  | {
      readonly kind: 'parts';
      readonly data: { readonly nodes: readonly NodeRow[]; readonly members: readonly MemberRow[] };
    }
  /** The text that is being written, as far as it has come; '' where there is none, or a step has it. */
  | { readonly kind: 'text'; readonly data: { readonly text: string } };

/** The nodes of a flow, or of a loop, and what leads from one to the other. */
export interface DrawnGraph {
  readonly nodes: readonly DrawnNode[];
  /** In the order of the file. */
  readonly connections: readonly {
    readonly from: string;
    readonly to: string;
    /** As written. */
    readonly when: string | null;
  }[];
}

export interface DrawnNode {
  readonly id: string;
  readonly type: string;
  readonly description: string | null;
  /** The node that goes on where this one fails. */
  readonly on_error: string | null;
  /** Of a loop. */
  readonly inside: DrawnGraph | null;
}

/** How a fleet comes to one answer. */
export interface DrawnFleet {
  /** `pipeline`, `peer`, `hierarchical`, `tiered`. */
  readonly mode: string;
  /** On which field of the answers is voted, and how; null where there is no vote. */
  readonly vote: { readonly field: string; readonly algorithm: string; readonly min_votes: number } | null;
  /** `merge`, `manager`, or null. */
  readonly aggregation: string | null;
  readonly members: readonly {
    readonly name: string;
    /** Null for one that is written in the fleet. */
    readonly agent: string | null;
    readonly weight: number;
    readonly is_manager: boolean;
    readonly tier: number;
  }[];
}

export interface RunPlan {
  /** What the run was asked. */
  readonly input: string;
  readonly parameters: readonly (readonly [name: string, value: string])[];
  /** Of a flow; null for a fleet, and where it cannot be read. */
  readonly flow: DrawnGraph | null;
  readonly fleet: DrawnFleet | null;
}

export interface NodeRow {
  /** Of its ids from the outermost loop in: `poll/check`. */
  readonly place: string;
  /** The same with the turns of loops, as steps have it: `poll#3/check`. */
  readonly path: string;
  /** `idle`, `working`, `waiting`, `done`, `failed`, `skipped`, `dropped`. */
  readonly state: string;
  readonly attempts: number;
  /** Of a loop: the turn that runs, or ran last; null before the first. */
  readonly turn: number | null;
  readonly until: number | null;
  readonly is_for_people: boolean;
  /** Of an `Approval` that waits, or waited. */
  readonly approval: string | null;
  /** Why it failed last, or was skipped. */
  readonly why: string | null;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  /** Of its connections, in the order of the file; null before its end. */
  readonly taken: readonly number[] | null;
  /** What an agent or a fleet was asked, or what a loop goes over. Of others the journal does not say. */
  readonly input: string | null;
  readonly output: string | null;
}

/** Of the fleet that runs, or of one in a flow. */
export interface MemberRow {
  /** `security`, `review/security`. */
  readonly path: string;
  readonly name: string;
  /** `idle`, `working`, `waiting`, `done`, `failed`, `dropped`. */
  readonly state: string;
  readonly why: string | null;
  /** JSON text of what it has voted for; null for none, or where there is no vote. */
  readonly vote: string | null;
  readonly output: string | null;
  readonly started_at: number | null;
  readonly ended_at: number | null;
}

/** What somebody is asked to approve, and what came of it. */
export interface ApprovalRow {
  readonly id: string;
  readonly run: string;
  readonly state: ApprovalState;
  /** `command`, `tool`, `node`. */
  readonly kind: string;
  readonly title: string;
  readonly agent: string | null;
  /** Exactly what is approved, as JSON in which what cannot be seen is escaped. */
  readonly request: string;
  /** It is longer than what is sent. */
  readonly is_cut: boolean;
  readonly requested_by: string | null;
  /** None: whoever is in the channel; without one only operators decide. */
  readonly approvers: readonly string[];
  readonly channel: string | null;
  readonly asked_at: number;
  readonly expires_at: number | null;
  readonly decided_at: number | null;
  readonly decided_by: string | null;
  readonly via: string | null;
  readonly comment: string | null;
}

export interface ApprovalList {
  readonly at: number;
  /** The newest first, as those that are decided. */
  readonly pending: readonly ApprovalRow[];
  readonly decided: readonly ApprovalRow[];
  /** There may be older ones of either. */
  readonly has_more: boolean;
}

export interface AgentServerRow {
  readonly name: string;
  /** Of one that the agent brings along; otherwise it is one of the catalog. */
  readonly is_own: boolean;
  /** Of its machine; null for one that no run has needed yet, or that is not there. */
  readonly state: string | null;
  readonly last_error: string | null;
}

/** Since the start of the gateway: what was answered, attempts that failed, those under way, and all that was done within them. */
export interface DoneFigures {
  readonly runs: number;
  readonly failed: number;
  readonly running: number;
  readonly iterations: number;
  readonly tool_calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost: number;
}

export interface AgentRow extends DoneFigures {
  readonly name: string;
  readonly description: string | null;
  /** As written, PROVIDER:MODEL. */
  readonly model: string | null;
  /** Who answers: `model`, `http`, `scripted`. */
  readonly runtime: string;
  readonly servers: readonly AgentServerRow[];
}

export interface FleetRow extends DoneFigures {
  readonly name: string;
  readonly description: string | null;
  readonly fleet: DrawnFleet;
}

export interface FlowRow extends DoneFigures {
  readonly name: string;
  readonly description: string | null;
  readonly parameters: readonly string[];
  /** Those of loops included. */
  readonly nodes: number;
}

export interface AgentList {
  readonly at: number;
  readonly agents: readonly AgentRow[];
  readonly fleets: readonly FleetRow[];
  readonly flows: readonly FlowRow[];
}

/** One flow as it was loaded. */
export interface FlowDrawing extends FlowRow {
  readonly graph: DrawnGraph;
}
