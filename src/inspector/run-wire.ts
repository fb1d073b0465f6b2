// What goes from the gateway to a page about runs, approvals and agents, for both ends, as wire.ts has it for the rest. Types only.
// Field names are those of the JSON; times are epoch milliseconds. Texts are redacted and cut before they leave.

import type { RunState } from '../../actors/runs/run-state.ts';
import type { ShownStep } from '../../actors/runs/shown-step.ts';
import type { ApprovalState } from '../../actors/store/approval.ts';

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
  /** The text that is being written, as far as it has come; '' where there is none, or a step has it. */
  | { readonly kind: 'text'; readonly data: { readonly text: string } };

/** What somebody is asked to approve, and what came of it. */
export interface ApprovalRow {
  readonly id: string;
  readonly run: string;
  readonly state: ApprovalState;
  /** `command`, `tool`. */
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

export interface AgentRow {
  readonly name: string;
  readonly description: string | null;
  /** As written, PROVIDER:MODEL. */
  readonly model: string | null;
  /** Who answers: `model`, `http`, `scripted`. */
  readonly runtime: string;
  readonly servers: readonly AgentServerRow[];
  /** Since the start of the gateway: what was answered, attempts that failed, and those under way. */
  readonly runs: number;
  readonly failed: number;
  readonly running: number;
  readonly iterations: number;
  readonly tool_calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost: number;
}

export interface AgentList {
  readonly at: number;
  readonly agents: readonly AgentRow[];
}
