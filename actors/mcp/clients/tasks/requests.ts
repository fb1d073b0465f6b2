// Access control for tasks at a server's address. A server cannot distinguish clients on a shared connection,
// so the gateway restricts clients to the tasks that they created. Requests for foreign and unknown tasks get
// the same response and do not reach the server. Clients without session and principal cannot be
// distinguished: a task id is enough for access, and `tasks/list` is refused. A local server's tasks are
// requested only from the process that created them.

import { principalText } from '../../../identity/principal.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { JsonScanner, textOf } from '../../jsonrpc/json-scanner.ts';
import { memberOf } from '../../jsonrpc/members.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { concatEdits, containsText, type Edit, rawOf, replaceSpan } from '../../jsonrpc/span.ts';
import type { CallOwner } from '../../servers/calls/owner.ts';
import { extensionsOf, TASKS } from '../../servers/lists/listing-capabilities.ts';
import type { PoolMember } from '../../servers/pool/pool-member.ts';
import type { TaskOwner } from '../../servers/tasks/task-records.ts';
import { clientEra, type RoutedRequest } from '../routed-request.ts';

/** Bytes of `[` and `"`. */
const BRACKET = 0x5b;
const QUOTE = 0x22;

/** Owner of the tasks of all clients without session and principal. */
const anonymousOwner = '';

const taskMethods = new Set(['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel', 'tasks/update']);

export function isTaskMethod(method: string): boolean {
  return taskMethods.has(method);
}

/** Returns true if a modern server (stateless, 2026-07-28) may answer the request with a task. */
export function declaresTasks({ caller, server }: RoutedRequest): boolean {
  return (
    caller !== undefined &&
    extensionsOf(caller.capabilities)[TASKS] !== undefined &&
    server.eras.serverEraFor('modern') === 'modern'
  );
}

/** Records the task if the response to this request creates it. */
export function recordTask(route: RoutedRequest): void {
  const { server, session } = route;
  onAnswer(route, (answer) => {
    const task = readCreatedTask(answer);
    if (task === undefined) return;
    const origin = { owner: ownerOf(route), session, member: findMember(route) };
    server.tasks.add(origin, task.taskId, task);
  });
}

/** Returns true if the client created the requested task at this server. */
export function ownsTask(route: RoutedRequest): boolean {
  const id = route.envelope.paramText('taskId') ?? '';
  return route.server.tasks.find(ownerOf(route), id) !== undefined;
}

/** Checks a task request, then calls `forward` or refuses it. */
export function routeTaskRequest(route: RoutedRequest, forward: (route: RoutedRequest) => void): void {
  const { envelope, exchange, server, caller } = route;
  const { method } = envelope;
  const owner = ownerOf(route);
  // On a private connection the server itself separates the tasks of clients.
  // Otherwise the gateway must check the owner of each task.
  const needsGuard = privateOwner(route) === undefined;
  // `caller` is set for modern clients; these have no access to tasks of legacy servers (hidden-tasks.ts).
  const hasNoAccess = caller !== undefined && server.eras.serverEraFor('modern') !== 'modern';
  if (hasNoAccess || (method === 'tasks/list' && needsGuard && owner === anonymousOwner)) {
    exchange.refuse(new RpcFault(rpcCodes.methodNotFound, `Method not found: ${method}`));
    return;
  }
  if (method === 'tasks/list') {
    if (needsGuard)
      rewrite(route, (answer) =>
        removeForeignTasks(answer, (id) => server.tasks.has(owner, id, findMember(route))),
      );
    forward(route);
    return;
  }
  const id = envelope.paramText('taskId') ?? '';
  const record = server.tasks.find(owner, id);
  // Another node of the cluster may have the record of a modern client's task. The request is then allowed,
  // because modern task ids cannot be guessed (specification).
  const mayBeRemote = exchange.modernResult?.states !== undefined && !server.tasks.hasId(id);
  if (needsGuard && record === undefined && !mayBeRemote) {
    exchange.refuse(new RpcFault(rpcCodes.invalidParams, 'Failed to retrieve task: Task not found'));
    return;
  }
  onAnswer(route, (answer) => {
    // The server sends the result only when the task has completed.
    if (method === 'tasks/result') server.tasks.update(owner, id, { status: 'completed', ttl: undefined });
    else if (answer.result !== undefined)
      server.tasks.update(owner, id, stateOf(answer.parse(answer.result)));
  });
  // `home`: the request goes to the process that runs the task.
  forward(record?.member === undefined ? route : { ...route, home: record.member });
}

/** Returns the session if the server has a connection for this session only. */
function privateOwner(route: RoutedRequest): CallOwner | undefined {
  const { server, session } = route;
  return server.pool.ownerOf(session, server.eras.serverEraFor(clientEra(route)) ?? 'legacy');
}

/**
 * Returns the owner of new tasks: a session with a private connection, otherwise the authenticated principal,
 * otherwise the session.
 */
function ownerOf(route: RoutedRequest): TaskOwner {
  const ownerOfConnection = privateOwner(route);
  if (ownerOfConnection !== undefined) return ownerOfConnection;
  const { session, caller, principal } = route;
  if (session === undefined) return caller?.principal ?? principal ?? anonymousOwner;
  return session.principal.kind === 'anonymous' ? session : principalText(session.principal);
}

/** Returns the server's connection that handled the request (a pool member); undefined if it has closed. */
function findMember({ server, exchange }: RoutedRequest): PoolMember | undefined {
  const connection = exchange.call?.connection;
  return [...server.pool.members].find((member) => member.connection === connection);
}

/** Calls `listener` with the response. */
function onAnswer(route: RoutedRequest, listener: (answer: Envelope) => void): void {
  rewrite(route, (answer) => {
    listener(answer);
    return [];
  });
}

/** Adds edits of the response to the edits that other parts have added. */
function rewrite({ exchange }: RoutedRequest, edits: (answer: Envelope) => readonly Edit[]): void {
  const { rewrite: before } = exchange;
  exchange.rewrite = (answer) => concatEdits(before?.(answer), edits(answer));
}

interface Task {
  readonly taskId: string;
  readonly status: unknown;
  readonly ttl: unknown;
}

/**
 * Returns the task that the response creates: a member of the result in the legacy era, the result itself in
 * the modern era.
 */
function readCreatedTask(answer: Envelope): Task | undefined {
  const { bytes, result, message } = answer;
  if (result === undefined || !containsText(message, '"taskId"')) return undefined;
  const isModern = answer.parse(memberOf(bytes, result, 'resultType')) === 'task';
  const task = answer.parse(isModern ? result : memberOf(bytes, result, 'task'));
  const { taskId } = (task ?? {}) as { taskId?: unknown };
  return typeof taskId === 'string' ? { taskId, ...stateOf(task) } : undefined;
}

function stateOf(task: unknown): { status: unknown; ttl: unknown } {
  const { status, ttl, ttlMs } = (task ?? {}) as Readonly<Record<string, unknown>>;
  // Modern servers send `ttlMs`, legacy servers (with sessions) `ttl`.
  return { status, ttl: ttlMs ?? ttl };
}

/** Returns the edits that remove foreign tasks from a list. */
function removeForeignTasks(answer: Envelope, isOwn: (id: string) => boolean): readonly Edit[] {
  const { bytes, result } = answer;
  const span = memberOf(bytes, result, 'tasks');
  if (span === undefined || bytes[span.start] !== BRACKET) return [];
  const ownTasks: string[] = [];
  const scanner = new JsonScanner(bytes, span.start);
  scanner.array(2, () => {
    const start = scanner.pos;
    scanner.value(3);
    const task = { start, end: scanner.pos };
    const id = memberOf(bytes, task, 'taskId');
    if (id !== undefined && bytes[id.start] === QUOTE && isOwn(textOf(bytes, id.start, id.end)))
      ownTasks.push(rawOf(bytes, task));
  });
  return [replaceSpan(span, `[${ownTasks.join(',')}]`)];
}
