// Requests about tasks at the address of one server. Where clients share a connection, the server takes them for one client, so
// that the gateway keeps their tasks apart: a client sees its own tasks, and all others are unknown to it.
//
// TA1  an unknown task and that of another client are refused by the same bytes, and the server is not asked.
// TA2  clients that nothing tells apart (no session, no principal) find a task by its id only; no list is given to them.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { JsonScanner, textOf } from '../../jsonrpc/json-scanner.ts';
import { memberOf } from '../../jsonrpc/members.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { type Edit, holds, rawOf, replacing, together } from '../../jsonrpc/span.ts';
import { principalText } from '../../principal.ts';
import type { PoolMember } from '../../server/pool/pool-member.ts';
import type { TaskOwner } from '../../server/tasks/task-records.ts';
import { TASKS } from '../eras/hidden-capabilities.ts';
import { clientEra, type RoutedRequest } from '../routed-request.ts';

const anybody = '';

const taskMethods = new Set(['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel', 'tasks/update']);

export function isTaskMethod(method: string): boolean {
  return taskMethods.has(method);
}

/** Whether the server may answer this request of a modern client with a task. */
export function declaresTasks({ caller, server }: RoutedRequest): boolean {
  const extensions = caller?.capabilities.extensions as Readonly<Record<string, unknown>> | undefined;
  return extensions?.[TASKS] !== undefined && server.eras.for('modern') === 'modern';
}

/** Has the task recorded that the server may create for this request. */
export function recordTask(route: RoutedRequest): void {
  const { server, session } = route;
  onAnswer(route, (answer) => {
    const task = createdTask(answer);
    if (task === undefined) return;
    const origin = { owner: ownerOf(route), session, member: servingMember(route) };
    server.tasks.add(origin, task.taskId, task);
  });
}

/** Sends a request about tasks to its server by `forward`, or refuses it. */
export function routeTaskRequest(route: RoutedRequest, forward: (route: RoutedRequest) => void): void {
  const { envelope, exchange, server, caller } = route;
  const { method } = envelope;
  const owner = ownerOf(route);
  const isGuarded = server.pool.placeOf(route.session, clientEra(route)) === undefined;
  // A legacy server's tasks are unknown in the modern era: the gateway drives them (task-call.ts).
  const isForeignEra = caller !== undefined && server.eras.for('modern') !== 'modern';
  if (isForeignEra || (method === 'tasks/list' && isGuarded && owner === anybody)) {
    exchange.refuse(new RpcFault(rpcCodes.methodNotFound, `Method not found: ${method}`));
    return;
  }
  if (method === 'tasks/list') {
    if (isGuarded)
      rewrite(route, (answer) => ownTasksOnly(answer, (id) => server.tasks.find(owner, id) !== undefined));
    forward(route);
    return;
  }
  const id = envelope.paramText('taskId') ?? '';
  const found = server.tasks.find(owner, id);
  // Another node of the cluster may have recorded it; ids of the modern era cannot be guessed.
  const mayBeElsewhere = exchange.modernResult?.states !== undefined && !server.tasks.isKnown(id);
  if (isGuarded && found === undefined && !mayBeElsewhere) {
    exchange.refuse(new RpcFault(rpcCodes.invalidParams, 'Failed to retrieve task: Task not found'));
    return;
  }
  onAnswer(route, (answer) => {
    // A result is given at the end only.
    if (method === 'tasks/result') server.tasks.update(owner, id, { status: 'completed', ttl: undefined });
    else if (answer.result !== undefined)
      server.tasks.update(owner, id, stateOf(answer.parse(answer.result)));
  });
  forward(found?.member === undefined ? route : { ...route, home: found.member });
}

/** The principal, or else the session. */
function ownerOf({ session, caller, principal }: RoutedRequest): TaskOwner {
  if (session === undefined) return caller?.principal ?? principal ?? anybody;
  return session.principal.kind === 'anonymous' ? session : principalText(session.principal);
}

function servingMember({ server, exchange }: RoutedRequest): PoolMember | undefined {
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

/** The task that an answer creates: in the legacy era its own member, in the modern era the result itself. */
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

/** Edits that leave only these tasks in a list. */
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
