// A flow as the rest of the program sees it: nodes, what leads from one to the other, and what each of them does. Filled: nothing here has to
// be defaulted again.

import type { Expression } from '../../expressions/expression.ts';
import type { Template, ValueTemplate } from '../../expressions/template.ts';
import type { UrlTemplate } from '../../expressions/url-template.ts';
import type { Agent } from '../agents/agent.ts';
import type { ApprovalRules } from '../approval-rules.ts';
import type { Fleet } from '../fleets/fleet.ts';
import type { Parameter } from '../triggers/binding.ts';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';

/** What a node does. Texts are templates; a value that is one expression keeps its type. */
export type NodeWork =
  /** The Agent of that name, or one that is written in the node; a Fleet likewise. */
  | { readonly type: 'Agent'; readonly agent: string | Agent; readonly input: Template }
  | { readonly type: 'Fleet'; readonly fleet: string | Fleet; readonly input: Template }
  | {
      readonly type: 'Tool';
      readonly server: string;
      readonly tool: string;
      readonly arguments: ValueTemplate;
      readonly timeout_seconds: number;
      /** What becomes of a call that may have happened. */
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
      /** A list, each of whose members has a turn; undefined: turns as long as `while` holds. */
      readonly over: Expression | undefined;
      readonly while: Expression | undefined;
      readonly max: number;
      readonly body: FlowBody;
    }
  | { readonly type: 'End'; readonly status: 'done' | 'failed'; readonly output: ValueTemplate | undefined };

/** What asks an agent or a fleet. */
export type AskingWork = Extract<NodeWork, { readonly type: 'Agent' | 'Fleet' }>;

export type NodeType = NodeWork['type'];

export interface NodeRetry {
  /** The first one included. */
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
  /** The node that goes on where this one fails. */
  readonly on_error: string | undefined;
  /** Of a `Join`; any other starts when all that leads to it is decided. */
  readonly strategy: 'all' | 'any' | 'majority';
}

/** When a connection is taken, once its node has ended well. */
export type When =
  | { readonly kind: 'always' | 'else' }
  /** After an `Approval`. */
  | { readonly kind: 'approved' | 'denied' | 'expired' }
  | { readonly kind: 'expression'; readonly expression: Expression };

export interface Connection {
  readonly from: string;
  readonly to: string;
  readonly when: When;
}

export interface FlowBody {
  readonly nodes: readonly FlowNode[];
  readonly connections: readonly Connection[];
}

export interface Flow extends FlowBody {
  readonly name: string;
  readonly description: string | undefined;
  readonly parameters: readonly Parameter[];
  /** From its beginning to its end, waits included. */
  readonly timeout_seconds: number;
  /** Absolute path. */
  readonly file: string;
  /** Changes with whatever the flow is. */
  readonly hash: string;
  /** As written, as JSON text with `${VAR}` unresolved: a run that has begun goes on by it. */
  readonly definition: string;
}
