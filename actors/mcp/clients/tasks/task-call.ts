// Runs a plain client's tool call as a legacy-server task: a first call creates the task, a second call on the same
// connection awaits the result. The client receives the plain tool result.
//
// TKC1  the client's request finishes exactly once (A2).
// TKC2  the task is cancelled if the client disconnects or receives an error.
// TKC3  progress of the task is sent under the client's token, which stays valid for the task (2025-11-25, "Tasks").

import type { GatewayError } from '../../../base/errors/errors.ts';
import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import { requestMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { memberOf } from '../../jsonrpc/members.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { ResultChange } from '../../jsonrpc/result-change.ts';
import { whole } from '../../jsonrpc/span.ts';
import type { Call, CallConnection, CallRequest, Exchange } from '../../servers/calls/call.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import type { RoutedRequest } from '../routed-request.ts';
import { isCalledAsTask } from './hidden-tasks.ts';
import type { ServerCall } from './server-call.ts';

/** Sends a request whose edits contain its task changes. The exchange may finish before this function returns. */
export function callServer(route: RoutedRequest, request: CallRequest): ServerCall {
  const { server } = route;
  return isCalledAsTask(route) ? new TaskCall(server, request) : server.handle.accept(request);
}

const CANCEL_TIMEOUT_MS = 10_000;

/** Removes the reference to the task, which the client does not know. */
const plainResult = new ResultChange({}, { 'io.modelcontextprotocol/related-task': undefined });

export class TaskCall implements Exchange, ServerCall {
  readonly #server: ManagedServer;
  readonly #request: CallRequest;
  readonly #creation: Call;
  /** The current call: it creates the task, or awaits the result. */
  #call: Call;
  #taskId: string | undefined;
  #isOver = false;

  constructor(server: ManagedServer, request: CallRequest) {
    this.#server = server;
    this.#request = request;
    this.#creation = server.handle.accept({ ...request, exchange: this });
    this.#call = this.#creation;
  }

  get connection(): CallConnection | undefined {
    return this.#call.connection;
  }

  answer(envelope: Envelope): void {
    const taskId = this.#taskId === undefined ? createdTask(envelope) : undefined;
    if (taskId === undefined) this.#finish(plain(envelope));
    else this.#await(taskId);
  }

  relay(message: Buffer): void {
    if (!this.#isOver) this.#request.exchange.relay(message);
  }

  /** Fails the request with this error, from a failed call or from the caller. */
  fail(error: GatewayError, isUnsent?: boolean): void {
    if (!this.#end()) return;
    if (!this.#call.isDone) this.#call.cancel(error.message);
    this.#cancelTask();
    this.#request.exchange.fail(error, this.#taskId === undefined && isUnsent);
  }

  drop(): void {
    if (!this.#end()) return;
    this.#request.exchange.drop();
  }

  cancel(reason?: string): void {
    if (!this.#end()) return;
    // A sent call can still create a task. The answer then contains the id for the cancellation.
    if (this.#taskId !== undefined || this.connection === undefined) this.#call.cancel(reason);
    this.#cancelTask();
    this.#request.exchange.drop();
  }

  suspend(): void {
    this.#call.suspend();
  }

  resume(): void {
    this.#call.resume();
  }

  #finish(envelope: Envelope): void {
    if (this.#end()) this.#request.exchange.answer(envelope);
  }

  #await(taskId: string): void {
    this.#taskId = taskId;
    if (this.#isOver) {
      this.#cancelTask();
      return;
    }
    const { owner, trace } = this.#request;
    const envelope = readServerMessage(requestMessage('0', 'tasks/result', { taskId }));
    const request = {
      envelope,
      exchange: this,
      owner,
      trace,
      era: 'legacy',
      continues: this.#creation,
    } as const;
    this.#call = this.#server.handle.accept(request);
  }

  /** The server refuses to cancel a finished task; the refusal is ignored. */
  #cancelTask(): void {
    const taskId = this.#taskId;
    if (taskId === undefined) return;
    this.#creation.connection?.request('tasks/cancel', { taskId }, CANCEL_TIMEOUT_MS).catch(() => {});
  }

  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    return true;
  }
}

/** Returns the task id in a CreateTaskResult; undefined for other answers. */
function createdTask(answer: Envelope): string | undefined {
  const { bytes, result } = answer;
  if (result === undefined) return undefined;
  const id = answer.parse(memberOf(bytes, memberOf(bytes, result, 'task'), 'taskId'));
  return typeof id === 'string' ? id : undefined;
}

function plain(answer: Envelope): Envelope {
  const edits = plainResult.edits(answer);
  return edits.length === 0 ? answer : readServerMessage(whole(applyEdits(answer.bytes, edits)));
}
