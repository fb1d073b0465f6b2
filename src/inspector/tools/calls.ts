// Tool calls from the page. The response to each is a stream of server-sent events: progress, then the
// result. If the page disconnects, its call is cancelled.
//
// Limits (A8, ARCHITECTURE.md): MAX_CALLS concurrent calls of MAX_MS each, half of them for one principal
// alone, MAX_ARGUMENTS bytes per request, one progress event per PROGRESS_MS. A page that does not read the
// stream receives no progress.

import { HolderBudget } from '../../../actors/base/bounds/holder-budget.ts';
import {
  GatewayError,
  InvalidQueryError,
  OverloadedError,
  StoppedError,
} from '../../../actors/base/errors/errors.ts';
import type { GatewayRuntime } from '../../../actors/gateway/gateway.ts';
import { principalText } from '../../../actors/identity/principal.ts';
import type { ProgressReport } from '../../../actors/mcp/clients/in-process-client.ts';
import { RpcFault } from '../../../actors/mcp/jsonrpc/rpc-fault.ts';
import { parseJson } from '../../../config/reader/json-text.ts';
import type { HttpStream } from '../../http/listener/seam.ts';
import type { ExchangeContext } from '../../http/mcp/exchange-context.ts';
import { streamHeaders } from '../response-headers.ts';
import type { CallEnd, CallMessage, CallProblem } from '../wire/tools.ts';
import { createResultView } from './result-view.ts';

const MAX_CALLS = 32;
const MAX_MS = 600_000;
const MAX_ARGUMENTS = 1_000_000;
const HEARTBEAT_MS = 15_000;
const PROGRESS_MS = 100;
/** Unsent bytes above which progress and heartbeats are omitted. */
const MAX_BUFFERED = 100_000;
/** Maximum length of progress and error messages. */
const MAX_MESSAGE = 2_000;

type JsonArguments = Readonly<Record<string, unknown>>;

export class ToolCalls {
  readonly #gateway: Pick<GatewayRuntime, 'log' | 'redactor' | 'mcp'>;
  readonly #slots = new HolderBudget(MAX_CALLS);

  constructor(gateway: Pick<GatewayRuntime, 'log' | 'redactor' | 'mcp'>) {
    this.#gateway = gateway;
  }

  /**
   * Calls the tool and streams the result to the page. Rejects with UnknownServerError, InvalidQueryError or
   * OverloadedError before it responds.
   */
  async call(context: ExchangeContext, server: string, tool: string, body: Buffer): Promise<void> {
    this.#gateway.mcp.servers.require(server);
    const args = argumentsIn(body);
    const release = this.#slots.hold(1, principalText(context.principal));
    if (release === undefined)
      throw new OverloadedError('too many calls from the inspector; wait for one, or cancel it');
    const controller = new AbortController();
    try {
      context.reply.onAbort(() => controller.abort(new StoppedError('the page disconnected')));
      const stream = context.reply.stream(200, context.headers(streamHeaders));
      const callStream = new CallStream(stream, (text) => this.#gateway.redactor.excerpt(text, MAX_MESSAGE));
      const heartbeat = setInterval(() => callStream.heartbeat(), HEARTBEAT_MS);
      try {
        const sender = principalText(context.principal);
        const end = await this.#run(server, tool, args, callStream, controller.signal, sender);
        const outcome = end.problem?.code ?? (end.result?.is_error === true ? 'tool_error' : 'answered');
        const fields = { server, tool, outcome, duration_ms: end.ms, request_id: context.requestId };
        this.#gateway.log.info(fields, 'called a tool from the inspector');
        callStream.end(end);
      } finally {
        clearInterval(heartbeat);
      }
    } finally {
      release();
    }
  }

  async #run(
    server: string,
    tool: string,
    args: JsonArguments,
    callStream: CallStream,
    signal: AbortSignal,
    sender: string,
  ): Promise<CallEnd> {
    const since = performance.now();
    const ms = () => Math.round((performance.now() - since) * 10) / 10;
    try {
      const onReport = (report: ProgressReport) => callStream.report(report);
      const { inProcess } = this.#gateway.mcp.clients;
      const result = await inProcess.callTool(tool, args, {
        ...{ server, signal, timeoutMs: MAX_MS, onReport, sender },
      });
      return { ms: ms(), result: createResultView(result, this.#gateway.redactor), problem: null };
    } catch (error) {
      return { ms: ms(), result: null, problem: this.#problem(error) };
    }
  }

  #problem(error: unknown): CallProblem {
    if (!(error instanceof GatewayError) && !(error instanceof RpcFault)) {
      const reason = String((error as Error)?.stack ?? error);
      this.#gateway.log.error({ reason }, 'internal error in a tool call from the inspector');
      return { code: 'internal error', message: 'see the log of the gateway' };
    }
    const message = this.#gateway.redactor.excerpt(error.message, MAX_MESSAGE);
    return { code: String(error.code), message };
  }
}

/** Event stream of one call. */
class CallStream {
  readonly #stream: HttpStream;
  readonly #excerpt: (text: string) => string;
  #sentAt = 0;

  constructor(stream: HttpStream, excerpt: (text: string) => string) {
    this.#stream = stream;
    this.#excerpt = excerpt;
    this.heartbeat();
  }

  heartbeat(): void {
    if (this.#stream.bufferedBytes < MAX_BUFFERED) this.#stream.write(': \n\n');
  }

  report({ progress, total, message }: ProgressReport): void {
    const now = performance.now();
    if (now - this.#sentAt < PROGRESS_MS || this.#stream.bufferedBytes > MAX_BUFFERED) return;
    this.#sentAt = now;
    const text = message === undefined ? null : this.#excerpt(message);
    this.#send({
      kind: 'progress',
      data: { progress: progress ?? null, total: total ?? null, message: text },
    });
  }

  end(end: CallEnd): void {
    this.#send({ kind: 'end', data: end });
    this.#stream.end();
  }

  #send({ kind, data }: CallMessage): void {
    this.#stream.write(`event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`);
  }
}

/** Parses the member `arguments` of the request body. Throws InvalidQueryError if it is invalid. */
function argumentsIn(body: Buffer): JsonArguments {
  if (body.length > MAX_ARGUMENTS) throw new InvalidQueryError(`the arguments exceed ${MAX_ARGUMENTS} bytes`);
  let args: unknown;
  try {
    args = (parseJson(body.toString('utf8')) as { readonly arguments?: unknown } | null)?.arguments;
  } catch {
    // Invalid JSON is reported below, like other invalid arguments.
  }
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    throw new InvalidQueryError('the body must be JSON: {"arguments": {…}}');
  return args as JsonArguments;
}
