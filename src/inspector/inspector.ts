// The inspector's side of the gateway: what is under /inspector, and who is let in.
//
//   GET  /inspector, /inspector/view/…  the page; every view has an address of its own, and all are this page
//   GET  /inspector/assets/NAME         its scripts and styles
//   POST /inspector/session             the form with the key, for a cookie; /inspector/session/end takes it away
//   GET  /inspector/enter/CODE          a one-time link, for the same cookie; POST /inspector/links creates it
//   GET  /inspector/feed                server-sent events: tree, frame, numbers
//   GET  /inspector/stately             the same events for other tools, with inspector.stately only
//   GET  /inspector/machines            the machines' states and transitions, for the charts
//   GET  /inspector/servers/ID/tools    its tools, …/tools/NAME one of them; POST …/tools/NAME/call calls it, with inspector.commands only
//   GET  /inspector/connect             what the page has to know to say how clients connect
//   GET  /inspector/sessions            a piece of the list of sessions; /inspector/sessions/N one of them
//   GET  /inspector/dead-letters        the last events that reached nobody, by type and target
//   GET  /inspector/runs/ID/feed        server-sent events about one run
//   GET  /inspector/api/PATH            records from the HTTP API, in the brief view (IN3)
//   POST /inspector/api/PATH            commands of the HTTP API, with inspector.commands only
//
// IN1  if a key is required, requests without it receive only the key form and its assets.
//      Requests other than reads require the operator (IA4).
// IN3  the page uses the API through /inspector/api, because the cookie is only valid here (IA1). READ and ACT below list the allowed
//      paths; records are brief (RV1).

import { deadLettersOf } from '../../actors/base/supervision/dead-letters.ts';
import type { RootRef } from '../../actors/base/supervision/part.ts';
import type { Principal } from '../../actors/identity/principal.ts';
import { OPERATOR_PROOF } from '../http/identification.ts';
import type { BodyHandler, HeaderList, HttpStream } from '../http/listener/seam.ts';
import type { ExchangeContext } from '../http/mcp/exchange-context.ts';
import type { RouteContext, ServedGateway } from '../http/route-context.ts';
import type { Route } from '../http/routes.ts';
import type { TriggersFront } from '../http/triggers-front.ts';
import { FORM_PATH, type InspectorAccess } from './access.ts';
import { NOTHING_THERE, securityHeaders, streamHeaders } from './answer-headers.ts';
import { connectFacts } from './connect-desk.ts';
import { ENTRY_SECONDS, type EntryLink, EntryLinks } from './entry-links.ts';
import { ActorNames } from './feed/actor-names.ts';
import { Watchers } from './feed/watchers.ts';
import { KeyForm } from './key-form.ts';
import { PageFiles } from './page-files.ts';
import { decodedSegment } from './path-segment.ts';
import { RunStreams } from './runs/run-streams.ts';
import { MAX_COUNT, readQuery, sessionList, sessionPlace, wholeNumber } from './session-list.ts';
import { ToolRoutes } from './tools/tool-routes.ts';

const API = '/inspector/api';
/** Lists and single records. */
const READ = /^\/(?:servers|triggers|agents|fleets|flows|runs|deliveries|approvals)(?:\/[^/]+)?$/;
const ACT =
  /^\/(?:admin\/reload|[a-z]+\/[^/]+\/(?:start|stop|pause|resume|cancel|retry|replay|discard|approve|deny))$/;

const NOT_THE_OPERATOR = `only watching is open to everyone here; open the link from the command inspector, or ${OPERATOR_PROOF}`;

/** The page for a watcher: no commands, but a hint how to authenticate. */
const asWatched = (html: string) => html.replace('<body>', '<body data-access="watch">');

/** What the form that asks for the key is made of, besides itself. */
const formFiles: ReadonlySet<string> = new Set(['key.css', 'icon.svg']);

export interface InspectorOptions {
  readonly gateway: ServedGateway;
  /** Root of the actor tree. */
  readonly root: RootRef;
  readonly access: InspectorAccess;
  readonly links: EntryLinks;
  /** The principal of the operator's requests. */
  readonly operator: Principal;
  /** Where there are triggers. */
  readonly triggers: Pick<TriggersFront, 'automation' | 'figures'> | undefined;
  /** Returns the API row for a path. */
  apiRoute(path: string): Route;
}

export class Inspector {
  readonly #gateway: ServedGateway;
  readonly #root: RootRef;
  readonly #access: InspectorAccess;
  readonly #links: EntryLinks;
  readonly #operator: Principal;
  readonly #apiRoute: InspectorOptions['apiRoute'];
  readonly #names: ActorNames;
  readonly #files = new PageFiles();
  readonly #keyForm: KeyForm;
  readonly #watchers: Watchers;
  readonly #runs: RunStreams;
  readonly #tools: ToolRoutes;

  constructor({ gateway, root, access, links, operator, triggers, apiRoute }: InspectorOptions) {
    this.#gateway = gateway;
    this.#root = root;
    this.#access = access;
    this.#links = links;
    this.#operator = operator;
    this.#keyForm = new KeyForm(access, this.#files);
    this.#apiRoute = apiRoute;
    this.#names = new ActorNames(gateway.redactor);
    this.#watchers = new Watchers(gateway, root, triggers?.figures);
    this.#runs = new RunStreams(gateway, triggers?.automation);
    this.#tools = new ToolRoutes(gateway);
  }

  /** Answers a request for a path under /inspector; Host and Origin have been checked. */
  handle(routes: RouteContext, context: ExchangeContext): BodyHandler | undefined {
    const { method, path } = context.request;
    const [, , head = '', ...rest] = path.split('/');
    const isRead = method === 'GET' || method === 'HEAD';
    if (path === FORM_PATH && method === 'POST')
      return (_, body) => this.#keyForm.enter(context, typeof body === 'string' ? undefined : body);
    if (path === '/inspector/session/end' && method === 'POST') {
      this.#keyForm.leave(context);
      return undefined;
    }
    if (isRead && head === 'assets' && rest.length === 1 && formFiles.has(rest[0] ?? '')) {
      void this.#files.send(context, 200, rest[0] ?? '');
      return undefined;
    }
    if (isRead && EntryLinks.isAt(path)) {
      this.#enter(context);
      return undefined;
    }
    if (!this.#access.isAdmitted(context)) {
      if (isRead && (head === '' || head === 'view')) void this.#files.send(context, 401, 'key.html');
      else context.error(401, 'the inspector needs the API key; open /inspector in a browser and enter it');
      return undefined;
    }
    const isOperator = this.#access.isOperator(context);
    if (isOperator) context.principal = this.#operator;
    else if (!isRead) {
      context.error(401, NOT_THE_OPERATOR);
      return undefined;
    }
    if (isRead && (head === '' || head === 'view')) {
      const isWatching = this.#gateway.config.inspector.commands && !isOperator;
      void this.#files.send(context, 200, 'page.html', isWatching ? asWatched : undefined);
    } else if (isRead && head === 'assets' && rest.length === 1)
      void this.#files.send(context, 200, rest[0] ?? '');
    else if (method === 'GET' && path === '/inspector/feed')
      return () => this.#stream(context, (stream) => this.#watchers.watch(stream));
    else if (method === 'GET' && path === '/inspector/stately' && this.#gateway.config.inspector.stately)
      return () => this.#stream(context, (stream) => this.#watchers.tellOthers(stream));
    else if (isRead && path === '/inspector/machines') void this.#machines(context);
    else if (isRead && path === '/inspector/dead-letters')
      context.json(200, { recent: this.#deadLetters() }, securityHeaders);
    else if (isRead && head === 'sessions' && rest.length <= 1) void this.#sessions(context, rest[0]);
    else if (isRead && path === '/inspector/connect')
      context.json(200, connectFacts(this.#gateway.config, this.#gateway.mcp), securityHeaders);
    else if (this.#tools.has([head, ...rest])) return this.#tools.handle(context, [head, ...rest]);
    else if (method === 'GET' && head === 'runs' && rest.length === 2 && rest[1] === 'feed')
      return () => void this.#runs.open(context, decodedSegment(rest[0]));
    else if (head === 'api') return this.#api(routes, context, isRead);
    else if (method === 'POST' && path === '/inspector/links')
      context.json(200, this.#newLink(), securityHeaders);
    else context.error(404, NOTHING_THERE);
    return undefined;
  }

  /** Ends every feed; their viewers come back to the next gateway. */
  close(): void {
    this.#watchers.close();
  }

  #newLink(): EntryLink {
    return { path: this.#links.create(), expires_in_seconds: ENTRY_SECONDS };
  }

  /** Redirects to the page, with the operator's cookie if the link was open. */
  #enter({ request, reply }: ExchangeContext): void {
    // Link previews use HEAD; they do not consume the link.
    const isOpen = request.method === 'GET' && this.#links.use(request.path);
    const cookie: HeaderList = isOpen ? [['set-cookie', this.#access.operatorCookie()]] : [];
    reply.send(303, [...securityHeaders, ...cookie, ['location', '/inspector']]);
  }

  /** Begins a stream for one more who watches; what `begin` gives ends it when the client goes away. */
  #stream(context: ExchangeContext, begin: (stream: HttpStream) => () => void): void {
    // A feed would hold up the end of the gateway.
    if (this.#gateway.life.isEnding) context.refuseWhileDraining();
    else if (this.#watchers.isFull)
      context.error(503, 'too many watch already; close one of them', [['retry-after', '5']]);
    else {
      context.reply.onAbort(begin(context.reply.stream(200, context.headers(streamHeaders))));
    }
  }

  /** Handles an API request from the page (IN3). */
  #api(routes: RouteContext, context: ExchangeContext, isRead: boolean): BodyHandler | undefined {
    const { config, life } = this.#gateway;
    const path = context.request.path.slice(API.length);
    const route = this.#apiRoute(path);
    const { methods } = route;
    const action = typeof methods === 'function' ? methods : methods.get(context.request.method);
    if (!isRead && !config.inspector.commands)
      context.error(403, 'set inspector.commands: true in the gateway file to act from here');
    else if (!isRead && life.isEnding) context.refuseWhileDraining();
    else if (action === undefined || !(isRead ? READ : ACT).test(path)) context.error(404, NOTHING_THERE);
    else {
      context.isFromInspector = true;
      context.extraHeaders = [...context.extraHeaders, ...securityHeaders];
      const handle = action(routes, context, route.id);
      if (isRead || handle === undefined) return handle;
      return (request, body, reply) => {
        if (typeof body === 'string') context.refuseBody(body, config.limits.body_bytes);
        else handle(request, body, reply);
      };
    }
    return undefined;
  }

  #deadLetters() {
    return deadLettersOf(this.#root.system).recent.map(({ type, target }) => ({
      type: this.#names.eventOf(type),
      target: this.#names.nameOf(target),
    }));
  }

  /** Loaded when a page asks for them: among them are those of triggers, which a gateway may be without. */
  async #machines(context: ExchangeContext): Promise<void> {
    try {
      const { machineDefinitions } = await import('./feed/machine-definitions.ts');
      context.json(200, { machines: machineDefinitions() }, securityHeaders);
    } catch (error) {
      context.fail(error, (text) => this.#gateway.redactor.redact(text));
    }
  }

  async #sessions(context: ExchangeContext, segment: string | undefined): Promise<void> {
    const { redactor, mcp } = this.#gateway;
    const { sessions } = mcp.clients;
    const query = readQuery(context.request.query);
    if (query === undefined) {
      const message = `from and count are whole numbers, and count is at most ${MAX_COUNT}`;
      context.error(400, message);
      return;
    }
    try {
      const found = await (segment === undefined
        ? sessionList(sessions, query, redactor)
        : sessionPlace(sessions, wholeNumber(segment) ?? 0, query.filter, redactor));
      if (found === undefined) context.error(404, 'there is no such session; it may have ended');
      else context.json(200, found, securityHeaders);
    } catch (error) {
      context.fail(error, (text) => redactor.redact(text));
    }
  }
}
