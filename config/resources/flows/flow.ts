// The type of a flow (a graph of nodes that answers an event) after validation, including defaults: the
// nodes, the work of each node, and the connections.

import type { Expression } from '../../expressions/expression.ts';
import type { Template, ValueTemplate } from '../../expressions/template.ts';
import type { UrlTemplate } from '../../expressions/url-template.ts';
import type { Agent } from '../agents/agent.ts';
import type { ApprovalRules } from '../approval-rules.ts';
import type { Fleet } from '../fleets/fleet.ts';
import type { Parameter } from '../triggers/binding.ts';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';

/**
 * Work of a node, by node type. Texts are templates, with expressions in `{{ }}`. A text that is a single
 * expression results in the value of the expression, of any type.
 */
export type NodeWork =
  /** Name of the agent, or an agent defined in the flow's file; likewise for fleets. */
  | { readonly type: 'Agent'; readonly agent: string | Agent; readonly input: Template }
  | { readonly type: 'Fleet'; readonly fleet: string | Fleet; readonly input: Template }
  | {
      readonly type: 'Tool';
      readonly server: string;
      readonly tool: string;
      readonly arguments: ValueTemplate;
      readonly timeout_seconds: number;
      /** Handling of a call with unknown outcome after a crash: the node fails, or the call is repeated. */
      readonly interrupted_calls: 'fail' | 'repeat';
    }
  | {
      readonly type: 'HTTP';
      readonly method: HttpMethod;
      readonly url: UrlTemplate;
      /** True if the request may connect to private and reserved addresses. */
      readonly allow_private: boolean;
      readonly headers: Readonly<Record<string, Template>>;
      readonly body: ValueTemplate | undefined;
      readonly timeout_seconds: number;
    }
  | { readonly type: 'Approval'; readonly message: Template; readonly rules: ApprovalRules }
  | { readonly type: 'Response'; readonly text: Template; readonly channel: Template | undefined }
  | { readonly type: 'Conditional' | 'Parallel' | 'Join' }
  /** `seconds`: `value` is a duration; `until`: `value` is a time. */
  | { readonly type: 'Wait'; readonly for: 'seconds' | 'until'; readonly value: ValueTemplate }
  | { readonly type: 'Transform'; readonly set: Readonly<Record<string, ValueTemplate>> }
  | {
      readonly type: 'Loop';
      /** List with an iteration per member; undefined for a loop with `while`. */
      readonly over: Expression | undefined;
      /** Condition for the next iteration; undefined for a loop with `over`. */
      readonly while: Expression | undefined;
      /** Maximum iterations. */
      readonly max: number;
      readonly body: FlowBody;
    }
  | { readonly type: 'End'; readonly status: 'done' | 'failed'; readonly output: ValueTemplate | undefined };

/** Work that runs an agent or a fleet. Both are handlers: a trigger can also send its events to them. */
export type HandlerWork = Extract<NodeWork, { readonly type: 'Agent' | 'Fleet' }>;

export type NodeType = NodeWork['type'];

export interface NodeRetry {
  /** Maximum number of attempts, including the first one. */
  readonly attempts: number;
  readonly min_backoff_seconds: number;
  readonly max_backoff_seconds: number;
  /** Backoff multiplier. */
  readonly factor: number;
}

export interface FlowNode {
  readonly id: string;
  readonly description: string | undefined;
  readonly work: NodeWork;
  readonly retry: NodeRetry;
  /** Id of the next node after a failure. */
  readonly on_error: string | undefined;
  /**
   * Incoming connections that must be taken before a `Join` starts: all, any, or more than half. Another node
   * starts after each of its incoming connections is decided (taken or not), if one is taken.
   */
  readonly strategy: 'all' | 'any' | 'majority';
}

/** Condition of a connection, evaluated after the node that it leaves has succeeded. */
export type When =
  /** `always`: no condition; `else`: if no other connection of the node is taken. */
  | { readonly kind: 'always' | 'else' }
  /** Decision at an `Approval`. */
  | { readonly kind: 'approved' | 'denied' | 'expired' }
  | { readonly kind: 'expression'; readonly expression: Expression };

export interface FlowConnection {
  /** Id of the node that the connection leaves. */
  readonly from: string;
  /** Id of the next node. */
  readonly to: string;
  readonly when: When;
}

/** Graph of a flow, or of a loop within it. */
export interface FlowBody {
  readonly nodes: readonly FlowNode[];
  readonly connections: readonly FlowConnection[];
}

export interface Flow extends FlowBody {
  readonly name: string;
  readonly description: string | undefined;
  readonly parameters: readonly Parameter[];
  /** Maximum total duration, including waits. */
  readonly timeout_seconds: number;
  /** Absolute path of the flow's file. */
  readonly file: string;
  /** Hash of the content, to detect changes at a reload. */
  readonly hash: string;
  /** `spec` as JSON text with unresolved `${VAR}`. Started runs use it, even if the file changes. */
  readonly definition: string;
}
