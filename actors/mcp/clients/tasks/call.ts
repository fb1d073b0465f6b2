// Runs a tool call as a task of a legacy server (with sessions, up to 2025-11-25), for a client without
// access to tasks: the first call creates the task, a second call on the same connection returns its result.
// The client receives the plain tool result, exactly once (A2, ARCHITECTURE.md). The task is cancelled if the
// client leaves or receives an error. Progress of the task reaches the client under its own token
// (2025-11-25, "Tasks").

import type { GatewayError } from '../../../base/errors/errors.ts';
import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import { requestMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { memberOf } from '../../jsonrpc/members.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { ResultChange } from '../../jsonrpc/result-change.ts';
import { toBuffer } from '../../jsonrpc/span.ts';
import type { Call, CallConnection, CallExchange, CallRequest } from '../../servers/calls/call.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import type { RoutedRequest } from '../routed-request.ts';
import { isCalledAsTask } from './hidden-tasks.ts';
import type { ServerCall } from './server-call.ts';

/**
 * Sends a request. If the call must run as a task, the edits of the request already add the member `task`
 * (hidden-tasks.ts). The exchange may complete before this function returns.
 */
export function callServer(route: RoutedRequest, request: CallRequest): ServerCall {
  const { server } = route;
  return isCalledAsTask(route) ? new TaskCall(server, request) : server.handle.accept(request);
}

const CANCEL_TIMEOUT_MS = 10_000;

/** Removes the reference to the task, which the client does not know. */
const plainResult = new ResultChange({}, { 'io.modelcontextprotocol/related-task': undefined });

export class TaskCall implements CallExchange, ServerCall {
  readonly #server: ManagedServer;
  readonly #request: CallRequest;
  /** The call that creates the task. */
  readonly #creation: Call;
  /** The current call: creates the task, or awaits its result. */
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
    const taskId = this.#taskId === undefined ? readCreatedTask(envelope) : undefined;
    if (taskId === undefined) this.#finish(removeTaskReference(envelope));
    else this.#awaitResult(taskId);
  }

  relay(message: Buffer): void {
    if (!this.#isOver) this.#request.exchange.relay(message);
  }

  /** Fails the request, because a call failed or the caller aborts it. */
  fail(error: GatewayError, isUnsent?: boolean): void {
    if (!this.#end()) return;
    if (!this.#call.isDone) this.#call.cancel(error.message);
    this.#cancelTask();
    this.#request.exchange.fail(error, this.#taskId === undefined && isUnsent);
  }

  /** Called by the current call after its cancellation. Nothing remains to cancel. */
  drop(): void {
    if (!this.#end()) return;
    this.#request.exchange.drop();
  }

  cancel(reason?: string): void {
    if (!this.#end()) return;
    // A call already sent may still create a task. It is not cancelled, because its response contains the
    // task id.
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

  #awaitResult(taskId: string): void {
    this.#taskId = taskId;
    if (this.#isOver) {
      this.#cancelTask();
      return;
    }
    const { owner, trace } = this.#request;
    // The connection replaces the id 0. `continues` keeps the connection and the time limits of the call.
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

  /** Cancels the task. Errors for finished tasks are ignored. */
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

/** Returns the task id if the response is a CreateTaskResult, otherwise undefined. */
function readCreatedTask(answer: Envelope): string | undefined {
  const { bytes, result } = answer;
  if (result === undefined) return undefined;
  const id = answer.parse(memberOf(bytes, memberOf(bytes, result, 'task'), 'taskId'));
  return typeof id === 'string' ? id : undefined;
}

function removeTaskReference(answer: Envelope): Envelope {
  const edits = plainResult.edits(answer);
  return edits.length === 0 ? answer : readServerMessage(toBuffer(applyEdits(answer.bytes, edits)));
}
