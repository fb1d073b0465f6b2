// One tool as all three servers write it down, and how it is put into an MCP server: checked arguments in, an answer out,
// and every failure turned into a result that says what was wrong.
//
// 1. A ToolError reaches the caller word for word; of any other error only a reference, its text goes to stderr.
// 2. A tool with an output schema always gives structured content beside its text.

import { randomBytes } from 'node:crypto';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type {
  CallToolResult,
  ContentBlock,
  ServerNotification,
  ServerRequest,
} from '@modelcontextprotocol/sdk/types.js';
import type { z } from 'zod';
import type { CallGate } from './call-gate.ts';
import { complain } from './complaint.ts';
import { ToolError } from './tool-error.ts';

/** What a client may assume of a tool before it calls it (MCP, ToolAnnotations); all four are said, none left to a default. */
export interface ToolHints {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** What a running call knows of its caller. */
export interface ToolCall {
  /** Aborted when the client cancels, or when the server ends. */
  readonly signal: AbortSignal;
  /** Tells how far a long call is; costs nothing when the client did not ask for it. */
  report(progress: number, total: number | undefined, message: string): void;
}

export interface ToolAnswer<Structured> {
  /** What the model reads. */
  readonly text: string;
  /** The same for programs; needed where the tool has an output schema. */
  readonly structured?: Structured;
  /** Images and other content behind the text. */
  readonly content?: readonly ContentBlock[];
}

export interface Tool<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** A strict object (`z.strictObject`): an argument that nobody reads is a mistake of the caller. */
  readonly input: Input;
  readonly output?: Output;
  readonly hints: ToolHints;
  run(input: z.output<Input>, call: ToolCall): Promise<ToolAnswer<z.input<Output>>>;
}

/** Writes down a tool; only there so that the types of `run` follow from its schemas. */
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  tool: Tool<Input, Output>,
): Tool {
  return tool as unknown as Tool;
}

/** What all calls of a server pass. */
export interface Passage {
  readonly gate: CallGate;
  /** Cancels them. */
  readonly stopping: AbortSignal;
  /** Resolves when the client reads its answers: nothing more is done for one that does not. */
  room(): Promise<void>;
}

/** Offers `tool` to the client of `server`. */
export function addTool(server: McpServer, tool: Tool, { gate, stopping, room }: Passage): void {
  const { name, title, description, input, output, hints } = tool;
  server.registerTool(
    name,
    {
      title,
      description,
      inputSchema: input,
      ...(output && { outputSchema: output }),
      annotations: { title, ...hints },
    },
    async (args: Record<string, unknown>, extra: Extra): Promise<CallToolResult> => {
      const signal = AbortSignal.any([extra.signal, stopping]);
      try {
        const run = async () => {
          await room();
          signal.throwIfAborted();
          return tool.run(args, { signal, report: reporterOf(extra) });
        };
        return resultOf(await gate.run(signal, run));
      } catch (error) {
        return { isError: true, content: [{ type: 'text', text: tellingOf(error, name, signal) }] };
      }
    },
  );
}

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

function resultOf({ text, structured, content = [] }: ToolAnswer<Record<string, unknown>>): CallToolResult {
  return {
    content: [{ type: 'text', text }, ...content],
    ...(structured && { structuredContent: structured }),
  };
}

function reporterOf({ _meta, sendNotification }: Extra): ToolCall['report'] {
  const progressToken = _meta?.progressToken;
  return (progress, total, message) => {
    if (progressToken === undefined) return;
    const params = { progressToken, progress, message, ...(total !== undefined && { total }) };
    // A client that is gone has no use for it.
    sendNotification({ method: 'notifications/progress', params }).catch(() => {});
  };
}

function tellingOf(error: unknown, tool: string, signal: AbortSignal): string {
  if (error instanceof ToolError) return error.message;
  if (signal.aborted) return `The call of ${tool} was cancelled.`;
  const reference = randomBytes(4).toString('hex');
  complain(`${tool} failed, reference ${reference}:`, error);
  return `${tool} failed inside its server. Its log on stderr says why, under reference ${reference}.`;
}
