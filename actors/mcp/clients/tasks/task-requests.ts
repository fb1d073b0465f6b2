// Access control for tasks at single-server addresses. The server cannot distinguish clients that share a connection, so
// the gateway restricts each client to the tasks it created.
//
// TKQ1  foreign and unknown tasks are refused with identical bytes, and no request reaches the server.
// TKQ2  clients without session and principal cannot be distinguished: they need a task id, and `tasks/list` is refused.
// TKQ3  a task of a local server is requested from the process that created it, and from no other.

import { principalText } from '../../../identity/principal.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { JsonScanner, textOf } from '../../jsonrpc/json-scanner.ts';
import { memberOf } from '../../jsonrpc/members.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { type Edit, holds, rawOf, replacing, together } from '../../jsonrpc/span.ts';
import type { CallOwner } from '../../servers/calls/call-owner.ts';
import type { PoolMember } from '../../servers/pool/pool-member.ts';
import type { TaskOwner } from '../../servers/tasks/task-records.ts';
import { TASKS } from '../eras/hidden-capabilities.ts';
import { clientEra, type RoutedRequest } from '../routed-request.ts';

const anybody = '';

const taskMethods = new Set(['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel', 'tasks/update']);

export function isTaskMethod(method: string): boolean {
  return taskMethods.has(method);
}

/** Returns true if a modern server may answer the request with a task. */
export function declaresTasks({ caller, server }: RoutedRequest): boolean {
  const extensions = caller?.capabilities.extensions as Readonly<Record<string, unknown>> | undefined;
  return extensions?.[TASKS] !== undefined && server.eras.for('modern') === 'modern';
}

/** Records the task if the answer to this request creates one. */
export function recordTask(route: RoutedRequest): void {
  const { server, session } = route;
  onAnswer(route, (answer) => {
    const task = createdTask(answer);
    if (task === undefined) return;
    const origin = { owner: ownerOf(route), session, member: connectedMember(route) };
    server.tasks.add(origin, task.taskId, task);
  });
}

/** Checks a task request, then passes it to `forward` or refuses it. */
export function routeTaskRequest(route: RoutedRequest, forward: (route: RoutedRequest) => void): void {
  const { envelope, exchange, server, caller } = route;
  const { method } = envelope;
  const owner = ownerOf(route);
  const isGuarded = exclusiveOwner(route) === undefined;
  // Modern clients have no access to tasks of legacy servers (hidden-tasks.ts).
  const isForeignEra = caller !== undefined && server.eras.for('modern') !== 'modern';
  if (isForeignEra || (method === 'tasks/list' && isGuarded && owner === anybody)) {
    exchange.refuse(new RpcFault(rpcCodes.methodNotFound, `Method not found: ${method}`));
    return;
  }
  if (method === 'tasks/list') {
    if (isGuarded)
      rewrite(route, (answer) =>
        ownTasksOnly(answer, (id) => server.tasks.has(owner, id, connectedMember(route))),
      );
    forward(route);
    return;
  }
  const id = envelope.paramText('taskId') ?? '';
  const found = server.tasks.find(owner, id);
  // The record may be on a different cluster node. Modern task ids are unguessable by specification.
  const mayBeElsewhere = exchange.modernResult?.states !== undefined && !server.tasks.isKnown(id);
  if (isGuarded && found === undefined && !mayBeElsewhere) {
    exchange.refuse(new RpcFault(rpcCodes.invalidParams, 'Failed to retrieve task: Task not found'));
    return;
  }
  onAnswer(route, (answer) => {
    // The server returns the result after the end of the task only.
    if (method === 'tasks/result') server.tasks.update(owner, id, { status: 'completed', ttl: undefined });
    else if (answer.result !== undefined)
      server.tasks.update(owner, id, stateOf(answer.parse(answer.result)));
  });
  forward(found?.member === undefined ? route : { ...route, home: found.member });
}

/** Returns the session, if the server has a connection for this session only. */
function exclusiveOwner(route: RoutedRequest): CallOwner | undefined {
  const { server, session } = route;
  return server.pool.placeOf(session, server.eras.for(clientEra(route)) ?? 'legacy');
}

/** Returns the session on a connection of its own, otherwise the proven principal, or the session if there is no principal. */
function ownerOf(route: RoutedRequest): TaskOwner {
  const exclusive = exclusiveOwner(route);
  if (exclusive !== undefined) return exclusive;
  const { session, caller, principal } = route;
  if (session === undefined) return caller?.principal ?? principal ?? anybody;
  return session.principal.kind === 'anonymous' ? session : principalText(session.principal);
}

function connectedMember({ server, exchange }: RoutedRequest): PoolMember | undefined {
  const connection = exchange.call?.connection;
  return [...server.pool.members].find((member) => member.connection === connection);
}

function onAnswer(route: RoutedRequest, act: (answer: Envelope) => void): void {
  rewrite(route, (answer) => {
    act(answer);
    return [];
  });
}

function rewrite({ exchange }: RoutedRequest, edits: (answer: Envelope) => readonly Edit[]): void {
  const { rewrite: before } = exchange;
  exchange.rewrite = (answer) => together(before?.(answer), edits(answer));
}

interface Task {
  readonly taskId: string;
  readonly status: unknown;
  readonly ttl: unknown;
}

/** Returns the created task: a member of the result in the legacy era, the result itself in the modern era. */
function createdTask(answer: Envelope): Task | undefined {
  const { bytes, result, message } = answer;
  if (result === undefined || !holds(message, '"taskId"')) return undefined;
  const isModern = answer.parse(memberOf(bytes, result, 'resultType')) === 'task';
  const task = answer.parse(isModern ? result : memberOf(bytes, result, 'task'));
  const { taskId } = (task ?? {}) as { taskId?: unknown };
  return typeof taskId === 'string' ? { taskId, ...stateOf(task) } : undefined;
}

function stateOf(task: unknown): { status: unknown; ttl: unknown } {
  const { status, ttl, ttlMs } = (task ?? {}) as Readonly<Record<string, unknown>>;
  return { status, ttl: ttlMs ?? ttl };
}

/** Returns the edits that remove foreign tasks from a list. */
function ownTasksOnly(answer: Envelope, isOwn: (id: string) => boolean): readonly Edit[] {
  const { bytes, result } = answer;
  const span = memberOf(bytes, result, 'tasks');
  if (span === undefined || bytes[span.start] !== 0x5b) return [];
  const kept: string[] = [];
  const scanner = new JsonScanner(bytes, span.start);
  scanner.array(2, () => {
    const start = scanner.pos;
    scanner.value(3);
    const task = { start, end: scanner.pos };
    const id = memberOf(bytes, task, 'taskId');
    if (id !== undefined && bytes[id.start] === 0x22 && isOwn(textOf(bytes, id.start, id.end)))
      kept.push(rawOf(bytes, task));
  });
  return [replacing(span, `[${kept.join(',')}]`)];
}
