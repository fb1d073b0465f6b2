// One call of a tool that a page makes: a stream of server-sent events with its progress and, at last, its end.
//
// TCL1 (A8)  at most MAX_CALLS go on at a time, for MAX_MS each; a request has at most MAX_ARGUMENTS bytes; progress is told ten times a
//           second at most, and not to a page that does not take what it was told.
// TCL2       a call whose page has gone is cancelled at its server.

import {
  GatewayError,
  InvalidQueryError,
  OverloadedError,
  StoppedError,
} from '../../../actors/base/errors/errors.ts';
import type { Gateway } from '../../../actors/gateway/gateway.ts';
import type { ProgressReport } from '../../../actors/mcp/clients/in-process-client.ts';
import { RpcFault } from '../../../actors/mcp/jsonrpc/rpc-fault.ts';
import type { HttpStream } from '../../http/listener/seam.ts';
import type { ExchangeContext } from '../../http/mcp/exchange-context.ts';
import { streamHeaders } from '../answer-headers.ts';
import type { CallEnd, CallMessage, CallProblem } from '../wire/tool-wire.ts';
import { shownResult } from './shown-result.ts';

const MAX_CALLS = 16;
const MAX_MS = 600_000;
const MAX_ARGUMENTS = 1_000_000;
const HEARTBEAT_MS = 15_000;
const PROGRESS_MS = 100;
const MAX_BUFFERED = 100_000;
const MAX_WORDS = 2_000;

type Arguments = Readonly<Record<string, unknown>>;

export class ToolCalls {
  readonly #gateway: Pick<Gateway, 'log' | 'redactor' | 'mcp'>;
  #running = 0;

  constructor(gateway: Pick<Gateway, 'log' | 'redactor' | 'mcp'>) {
    this.#gateway = gateway;
  }

  /** Answers the request. Rejects, before anything is answered, with UnknownServerError, InvalidQueryError and OverloadedError. */
  async call(context: ExchangeContext, server: string, tool: string, body: Buffer): Promise<void> {
    this.#gateway.mcp.servers.require(server);
    const args = argumentsIn(body);
    if (this.#running >= MAX_CALLS)
      throw new OverloadedError(
        'too many calls from the inspector go on already; wait for one, or cancel it',
      );
    this.#running += 1;
    const leaving = new AbortController();
    try {
      context.reply.onAbort(() => leaving.abort(new StoppedError('the page does not wait for it any more')));
      const stream = context.reply.stream(200, context.headers(streamHeaders));
      const told = new ToldCall(stream, (text) => this.#gateway.redactor.excerpt(text, MAX_WORDS));
      const beat = setInterval(() => told.heartbeat(), HEARTBEAT_MS);
      try {
        const end = await this.#end(server, tool, args, told, leaving.signal);
        const outcome = end.problem?.code ?? (end.result?.is_error === true ? 'error' : 'answered');
        const fields = { server, tool, outcome, duration_ms: end.ms, request_id: context.requestId };
        this.#gateway.log.info(fields, 'a tool was called from the inspector');
        told.end(end);
      } finally {
        clearInterval(beat);
      }
    } finally {
      this.#running -= 1;
    }
  }

  async #end(
    server: string,
    tool: string,
    args: Arguments,
    told: ToldCall,
    signal: AbortSignal,
  ): Promise<CallEnd> {
    const since = performance.now();
    const ms = () => Math.round((performance.now() - since) * 10) / 10;
    try {
      const onReport = (report: ProgressReport) => told.report(report);
      const { inProcess } = this.#gateway.mcp.clients;
      const result = await inProcess.callTool(tool, args, { server, signal, timeoutMs: MAX_MS, onReport });
      return { ms: ms(), result: shownResult(result, this.#gateway.redactor), problem: null };
    } catch (error) {
      return { ms: ms(), result: null, problem: this.#problem(error) };
    }
  }

  #problem(error: unknown): CallProblem {
    if (!(error instanceof GatewayError) && !(error instanceof RpcFault)) {
      const reason = String((error as Error)?.stack ?? error);
      this.#gateway.log.error({ reason }, 'a call from the inspector failed by a fault');
      return { code: 'internal error', message: 'the log of the gateway has the details' };
    }
    const message = this.#gateway.redactor.excerpt(error.message, MAX_WORDS);
    return { code: String(error.code), message };
  }
}

/** What the page is told of its call. */
class ToldCall {
  readonly #stream: HttpStream;
  readonly #excerpt: (text: string) => string;
  #toldAt = 0;

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
    if (now - this.#toldAt < PROGRESS_MS || this.#stream.bufferedBytes > MAX_BUFFERED) return;
    this.#toldAt = now;
    const words = message === undefined ? null : this.#excerpt(message);
    this.#tell({
      kind: 'progress',
      data: { progress: progress ?? null, total: total ?? null, message: words },
    });
  }

  end(end: CallEnd): void {
    this.#tell({ kind: 'end', data: end });
    this.#stream.end();
  }

  #tell({ kind, data }: CallMessage): void {
    this.#stream.write(`event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`);
  }
}

/** Throws InvalidQueryError. */
function argumentsIn(body: Buffer): Arguments {
  if (body.length > MAX_ARGUMENTS)
    throw new InvalidQueryError(`the arguments have more than ${MAX_ARGUMENTS} bytes`);
  let given: unknown;
  try {
    given = (JSON.parse(body.toString('utf8')) as { readonly arguments?: unknown } | null)?.arguments;
  } catch {
    // Told below.
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new InvalidQueryError('the body should be JSON: {"arguments": {…}}');
  return given as Arguments;
}
