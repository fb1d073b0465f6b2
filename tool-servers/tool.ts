// Defines tools and registers them in an MCP server. Validates arguments, and converts failures to results
// with `isError`.
//
// 1. The caller receives ToolError messages unchanged. Other errors are logged to stderr, and the caller
//    receives only a reference.
// 2. A tool with an output schema always returns structured content besides the text.

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
import { logError } from './stderr-log.ts';
import { ToolError } from './tool-error.ts';

/**
 * Annotations for clients (MCP ToolAnnotations). All four are required: tools must not depend on defaults.
 */
export interface ServerToolHints {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** Abort signal and progress reports, per call. */
export interface ServerToolCall {
  /** Aborted when the client cancels the call or the server stops. */
  readonly signal: AbortSignal;
  /** Reports progress; does nothing if the client did not request it. */
  report(progress: number, total: number | undefined, message: string): void;
}

export interface ServerToolOutput<Structured> {
  /** Text for the model. */
  readonly text: string;
  /** The same data for programs; required if the tool has an output schema. */
  readonly structured?: Structured;
  /** Images and other content after the text. */
  readonly content?: readonly ContentBlock[];
}

export interface ServerTool<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodObject = z.ZodObject,
> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** A strict object (`z.strictObject`), which rejects unknown arguments. */
  readonly input: Input;
  readonly output?: Output;
  readonly hints: ServerToolHints;
  run(input: z.output<Input>, call: ServerToolCall): Promise<ServerToolOutput<z.input<Output>>>;
}

/** Infers the types of `run` from the schemas. */
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  tool: ServerTool<Input, Output>,
): ServerTool {
  return tool as unknown as ServerTool;
}

/** Limits that all calls of a server share. */
export interface SharedCallLimits {
  readonly gate: CallGate;
  /** Aborts all calls. */
  readonly stopping: AbortSignal;
  /** Resolves when the client reads its responses. Calls start only then. */
  whenWritable(): Promise<void>;
}

/** Registers `tool` in `server`. */
export function addTool(
  server: McpServer,
  tool: ServerTool,
  { gate, stopping, whenWritable }: SharedCallLimits,
): void {
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
          await whenWritable();
          signal.throwIfAborted();
          return tool.run(args, { signal, report: reporterOf(extra) });
        };
        return resultOf(await gate.run(signal, run));
      } catch (error) {
        return { isError: true, content: [{ type: 'text', text: errorText(error, name, signal) }] };
      }
    },
  );
}

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

function resultOf({
  text,
  structured,
  content = [],
}: ServerToolOutput<Record<string, unknown>>): CallToolResult {
  return {
    content: [{ type: 'text', text }, ...content],
    ...(structured && { structuredContent: structured }),
  };
}

function reporterOf({ _meta, sendNotification }: Extra): ServerToolCall['report'] {
  const progressToken = _meta?.progressToken;
  return (progress, total, message) => {
    if (progressToken === undefined) return;
    const params = { progressToken, progress, message, ...(total !== undefined && { total }) };
    // The client may have disconnected.
    sendNotification({ method: 'notifications/progress', params }).catch(() => {});
  };
}

function errorText(error: unknown, tool: string, signal: AbortSignal): string {
  if (error instanceof ToolError) return error.message;
  if (signal.aborted) return `The call of ${tool} was cancelled.`;
  const reference = randomBytes(4).toString('hex');
  logError(`${tool} failed, reference ${reference}:`, error);
  return `${tool} failed with an internal error. See reference ${reference} in the log of the server (stderr).`;
}
