// The type of a flow (a graph of steps that answers an event) after validation, including defaults: nodes,
// their work, and connections.

import type { Expression } from '../../expressions/expression.ts';
import type { Template, ValueTemplate } from '../../expressions/template.ts';
import type { UrlTemplate } from '../../expressions/url-template.ts';
import type { Agent } from '../agents/agent.ts';
import type { ApprovalRules } from '../approval-rules.ts';
import type { Fleet } from '../fleets/fleet.ts';
import type { Parameter } from '../triggers/binding.ts';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';

/** Work of a node, by node type. Texts are templates; a value with a single expression keeps its type. */
export type NodeWork =
  /** Agent name or inline agent; likewise for fleets. */
  | { readonly type: 'Agent'; readonly agent: string | Agent; readonly input: Template }
  | { readonly type: 'Fleet'; readonly fleet: string | Fleet; readonly input: Template }
  | {
      readonly type: 'Tool';
      readonly server: string;
      readonly tool: string;
      readonly arguments: ValueTemplate;
      readonly timeout_seconds: number;
      /** Handling of calls with unknown outcome. */
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
  | { readonly type: 'Wait'; readonly for: 'seconds' | 'until'; readonly value: ValueTemplate }
  | { readonly type: 'Transform'; readonly set: Readonly<Record<string, ValueTemplate>> }
  | {
      readonly type: 'Loop';
      /** List with an iteration per member; undefined for a loop with `while`. */
      readonly over: Expression | undefined;
      readonly while: Expression | undefined;
      readonly max: number;
      readonly body: FlowBody;
    }
  | { readonly type: 'End'; readonly status: 'done' | 'failed'; readonly output: ValueTemplate | undefined };

/** Work that runs an agent or a fleet. */
export type HandlerWork = Extract<NodeWork, { readonly type: 'Agent' | 'Fleet' }>;

export type NodeType = NodeWork['type'];

export interface NodeRetry {
  /** Maximum number of attempts, including the first one. */
  readonly attempts: number;
  readonly min_backoff_seconds: number;
  readonly max_backoff_seconds: number;
  readonly factor: number;
}

export interface FlowNode {
  readonly id: string;
  readonly description: string | undefined;
  readonly work: NodeWork;
  readonly retry: NodeRetry;
  /** Next node after a failure. */
  readonly on_error: string | undefined;
  /** Required connections of a `Join`. Other nodes start when all incoming connections are decided. */
  readonly strategy: 'all' | 'any' | 'majority';
}

/** Connection condition, evaluated after its node has succeeded. */
export type When =
  | { readonly kind: 'always' | 'else' }
  /** Decision at an `Approval`. */
  | { readonly kind: 'approved' | 'denied' | 'expired' }
  | { readonly kind: 'expression'; readonly expression: Expression };

export interface FlowConnection {
  readonly from: string;
  readonly to: string;
  readonly when: When;
}

export interface FlowBody {
  readonly nodes: readonly FlowNode[];
  readonly connections: readonly FlowConnection[];
}

export interface Flow extends FlowBody {
  readonly name: string;
  readonly description: string | undefined;
  readonly parameters: readonly Parameter[];
  /** Total duration, including waits. */
  readonly timeout_seconds: number;
  /** Absolute path. */
  readonly file: string;
  /** Content hash. */
  readonly hash: string;
  /** Flow file as JSON text with unresolved `${VAR}`. Started runs use it, even if the file changes. */
  readonly definition: string;
}
