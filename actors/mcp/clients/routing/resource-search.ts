// Searches for a resource that no server is known to have: sends the request to each server in turn, until
// one returns the resource. A stopped server is started only if its lists contain an address of the same
// scheme, so a wrong address does not start every server. Parked servers, which failed too often, are omitted
// (circuit-breaker.ts). The search has a deadline, and the client receives exactly one response (A2,
// ARCHITECTURE.md).

import type { RpcFault } from '../../jsonrpc/rpc-fault.ts';
import type { Message } from '../../jsonrpc/span.ts';
import type { CallConnection } from '../../servers/calls/call.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import { pagesOf, schemeOf } from '../aggregate/address-form.ts';
import type { Aggregate } from '../aggregate/aggregate.ts';
import { extensionsOfServer, SKILLS } from '../aggregate/merged-extensions.ts';
import { type Cancellable, ClientExchange, type ExchangeEnd } from '../exchange.ts';
import { type ClientRequest, clientEra } from '../routed-request.ts';
import type { InFlightLimiter } from './in-flight-limiter.ts';

/** Methods with an address that the gateway may not know. */
const searchable = new Set(['resources/read', 'skills/get', 'resources/directory/read']);

export function isSearchable(method: string): boolean {
  return searchable.has(method);
}

/** Returns the servers that may have the resource: running servers first, in the order of the catalog. */
export function possibleServers(view: Aggregate, request: ClientRequest, uri: string): ManagedServer[] {
  const needsSkills = request.envelope.method !== 'resources/read';
  const scheme = schemeOf(uri);
  const able = view
    .resourceServers()
    .filter(
      (server) =>
        !server.handle.isParked && (!needsSkills || SKILLS in extensionsOfServer(server, clientEra(request))),
    );
  const stopped = able.filter((server) => !server.isRunning && listsScheme(view, server, scheme));
  return [...able.filter(({ isRunning }) => isRunning), ...stopped];
}

function listsScheme(view: Aggregate, server: ManagedServer, scheme: string): boolean {
  const { resources = [], resourceTemplates = [], tools = [] } = view.listsOf(server).lists;
  const isSame = (uri: string) => schemeOf(uri) === scheme;
  return (
    [...resources, ...resourceTemplates].some(({ key }) => isSame(key)) ||
    tools.some((tool) => pagesOf(tool).some(isSame))
  );
}

export interface ResourceSearchOptions {
  readonly request: ClientRequest;
  readonly servers: readonly ManagedServer[];
  readonly timeoutMs: number;
  readonly inFlight: InFlightLimiter;
  /** Error if no server returns the resource. */
  readonly fault: RpcFault;
  send(request: ClientRequest, server: ManagedServer): void;
  onFound(server: ManagedServer): void;
}

export class ResourceSearch implements Cancellable {
  readonly #options: ResourceSearchOptions;
  readonly #servers: ManagedServer[];
  readonly #timer: NodeJS.Timeout;
  #attempt: ClientExchange | undefined;
  #isOver = false;

  /** Starts the search. */
  constructor(options: ResourceSearchOptions) {
    this.#options = options;
    this.#servers = [...options.servers];
    this.#timer = setTimeout(() => this.#fail(), options.timeoutMs);
    options.request.exchange.call = this;
    this.#askNext();
  }

  get connection(): CallConnection | undefined {
    return this.#attempt?.call?.connection;
  }

  cancel(reason?: string): void {
    this.#end();
    this.#attempt?.cancel(reason);
    this.#options.request.exchange.drop();
  }

  /** Sends the request to the next server. */
  #askNext(): void {
    const { request, send } = this.#options;
    const { exchange } = request;
    const server = this.#servers.shift();
    if (server === undefined || exchange.isDone) {
      this.#fail();
      return;
    }
    const attempt = this.#newAttempt(server);
    this.#attempt = attempt;
    send({ ...request, exchange: attempt }, server);
  }

  /** Creates the request to one server. It receives the response, and hides errors from the client. */
  #newAttempt(server: ManagedServer): ClientExchange {
    const { request, inFlight } = this.#options;
    const { exchange } = request;
    let outcome: ExchangeEnd | undefined;
    const outlet = {
      send: (message: Message) => {
        if (!exchange.isDone) exchange.outlet.send(message);
      },
      finish: (message: Buffer) => {
        if (this.#isOver) return;
        if (outcome === 'answered' && !isEmpty(message)) this.#succeed(server, message);
        // Deferred: a server may refuse synchronously, and then many attempts would nest.
        else setImmediate(() => this.#askNext());
      },
      drop: () => {},
    };
    // Errors of the attempt do not reach the client, so they need no redaction.
    const attempt = new ClientExchange(exchange.rawId, outlet, {
      redact: (text) => text,
      onEnd: (ended, end) => {
        inFlight.release(ended);
        outcome = end;
      },
    });
    attempt.modernResult = exchange.modernResult;
    attempt.bytes = exchange.bytes;
    attempt.client = exchange.client;
    return attempt;
  }

  #succeed(server: ManagedServer, message: Buffer): void {
    this.#end();
    const { request, onFound } = this.#options;
    onFound(server);
    request.exchange.server = server.id;
    request.exchange.complete(message);
  }

  /** Responds with the error of an unknown resource. */
  #fail(): void {
    if (this.#isOver) return;
    this.#end();
    this.#attempt?.cancel('the search for the resource has ended');
    this.#options.request.exchange.refuse(this.#options.fault);
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}

/** Returns true for a result without contents. Some servers send it instead of an error. */
function isEmpty(message: Buffer): boolean {
  return message.includes('"contents":[]');
}
