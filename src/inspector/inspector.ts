// Routes and access control of the inspector, below /inspector:
//
//   GET  /inspector, /inspector/view/…  the page; each view has its own address
//   GET  /inspector/assets/NAME         scripts and styles
//   POST /inspector/session             sets the cookie, from the key form; /inspector/leave deletes it
//   GET  /inspector/enter?code=CODE     one-time link, sets the cookie; POST /inspector/links creates one
//   GET  /inspector/feed                server-sent events: tree, frame, numbers (feed/watchers.ts)
//   GET  /inspector/stately             events for @statelyai/inspect, with inspector.stately only
//   GET  /inspector/machines            states and transitions of the machines, for the charts
//   GET  /inspector/servers/ID/tools    tools; …/tools/NAME: one tool; POST …/tools/NAME/call: call it
//   GET  /inspector/connect             facts about connecting clients
//   GET  /inspector/sessions            part of the session list; /inspector/sessions/N: one session
//   GET  /inspector/dead-letters        last undelivered events, by type and target
//   GET  /inspector/runs/ID/feed        server-sent events of one run
//   GET  /inspector/api/PATH            records from the HTTP API, with redacted and truncated texts
//   POST /inspector/api/PATH            commands of the HTTP API
//
// POST requests below /servers and /api require inspector.commands. All requests except reads require the
// operator (access.ts). If a key is configured, requests without it receive only the key form and its assets.
//
// IN3  The page uses the API below /inspector/api, because the cookie is only valid here (IA1, access.ts).
//      READ_PATHS and COMMAND_PATHS list the allowed paths. Texts of records are redacted and truncated: the
//      brief view (RV1, http/api/record-view.ts).

import { HolderBudget } from '../../actors/base/bounds/holder-budget.ts';
import { deadLettersOf } from '../../actors/base/supervision/dead-letters.ts';
import type { RootRef } from '../../actors/base/supervision/part.ts';
import { type Principal, principalText } from '../../actors/identity/principal.ts';
import { OPERATOR_PROOF } from '../http/identification.ts';
import type { BodyHandler, HeaderList, HttpStream } from '../http/listener/seam.ts';
import type { ExchangeContext } from '../http/mcp/exchange-context.ts';
import type { RouteContext, ServedGateway } from '../http/route-context.ts';
import type { Route } from '../http/routes.ts';
import type { TriggersFront } from '../http/triggers-front.ts';
import { FORM_PATH, type InspectorAccess } from './access.ts';
import { connectFacts } from './connect-facts.ts';
import { ENTRY_SECONDS, type EntryLink, EntryLinks } from './entry-links.ts';
import { ActorNames } from './feed/actor-names.ts';
import { Watchers } from './feed/watchers.ts';
import { KeyForm } from './key-form.ts';
import { PageFiles } from './page-files.ts';
import { decodeSegment } from './path-segment.ts';
import { NOT_FOUND, securityHeaders, streamHeaders } from './response-headers.ts';
import { RunStreams, STREAM_SLOTS } from './runs/streams.ts';
import { findSession, MAX_COUNT, parseSessionQuery, sessionList, wholeNumber } from './session-list.ts';
import { ToolRoutes } from './tools/routes.ts';

const API = '/inspector/api';
/** Paths of lists and single records. */
const READ_PATHS =
  /^\/(?:(?:servers|triggers|agents|fleets|flows|runs|deliveries|approvals)(?:\/[^/]+)?|history\/calls|audit)$/;
const COMMAND_PATHS =
  /^\/(?:admin\/reload|[a-z]+\/[^/]+\/(?:start|stop|pause|resume|cancel|retry|replay|discard|approve|deny))$/;

const OPERATOR_ONLY = `only watching is allowed without operator access; open the link that the command inspector prints, or ${OPERATOR_PROOF}`;

/** Marks the page as read-only: it shows no commands, but a hint how to authenticate. */
const withoutCommands = (html: string) => html.replace('<body>', '<body data-access="watch">');

/** Assets of the key form. */
const formFiles: ReadonlySet<string> = new Set(['key.css', 'icon.svg']);

export interface InspectorOptions {
  readonly gateway: ServedGateway;
  /** Root of the actor tree. */
  readonly root: RootRef;
  readonly access: InspectorAccess;
  readonly links: EntryLinks;
  /** Principal of the operator's requests. */
  readonly operator: Principal;
  /** Undefined if there is no gateway file. */
  readonly gatewayFile: string | undefined;
  /** Undefined without triggers. */
  readonly triggers: Pick<TriggersFront, 'automation' | 'figures'> | undefined;
  /** Returns the API route for a path. */
  apiRoute(path: string): Route;
}

export class Inspector {
  readonly #gateway: ServedGateway;
  readonly #root: RootRef;
  readonly #access: InspectorAccess;
  readonly #links: EntryLinks;
  readonly #operator: Principal;
  readonly #gatewayFile: string | undefined;
  readonly #apiRoute: InspectorOptions['apiRoute'];
  readonly #names: ActorNames;
  readonly #files = new PageFiles();
  readonly #keyForm: KeyForm;
  readonly #watchers: Watchers;
  readonly #slots = new HolderBudget(STREAM_SLOTS);
  readonly #runs: RunStreams;
  readonly #tools: ToolRoutes;

  constructor(options: InspectorOptions) {
    const { gateway, root, access, links, operator, gatewayFile, triggers, apiRoute } = options;
    this.#gateway = gateway;
    this.#root = root;
    this.#access = access;
    this.#links = links;
    this.#operator = operator;
    this.#gatewayFile = gatewayFile;
    this.#keyForm = new KeyForm(access, this.#files);
    this.#apiRoute = apiRoute;
    this.#names = new ActorNames(gateway.redactor);
    this.#watchers = new Watchers(gateway, root, triggers?.figures);
    this.#runs = new RunStreams(gateway, triggers?.automation);
    this.#tools = new ToolRoutes(gateway);
  }

  /** Handles a request below /inspector, after the checks of Host and Origin. */
  handle(routes: RouteContext, context: ExchangeContext): BodyHandler | undefined {
    const { method, path } = context.request;
    const [, , head = '', ...rest] = path.split('/');
    const isReadRequest = method === 'GET' || method === 'HEAD';
    if (path === FORM_PATH && method === 'POST')
      // `body` is a string if the body is unusable, for example too large: the problem.
      return (_, body) =>
        this.#keyForm.enter(context, typeof body === 'string' ? undefined : body, routes.requestAudit);
    if (path === '/inspector/leave' && method === 'POST') {
      this.#keyForm.leave(context);
      return undefined;
    }
    if (isReadRequest && head === 'assets' && rest.length === 1 && formFiles.has(rest[0] ?? '')) {
      void this.#files.send(context, 200, rest[0] ?? '');
      return undefined;
    }
    if (isReadRequest && EntryLinks.isLinkPath(path)) {
      this.#enter(context);
      return undefined;
    }
    if (!this.#access.isAdmitted(context)) {
      if (isReadRequest && (head === '' || head === 'view')) void this.#files.send(context, 401, 'key.html');
      else
        context.error(
          401,
          'the inspector requires the API key; open /inspector in a browser and enter the key',
        );
      return undefined;
    }
    const isOperator = this.#access.isOperator(context);
    if (isOperator) context.principal = this.#operator;
    if (!isReadRequest && routes.requestAudit?.refusesOperation(context) === true) return undefined;
    if (!isOperator && !isReadRequest) {
      context.error(401, OPERATOR_ONLY);
      return undefined;
    }
    if (isReadRequest && (head === '' || head === 'view')) {
      // Without `commands`, even the operator cannot send commands.
      const needsOperatorHint = this.#gateway.config.inspector.commands && !isOperator;
      void this.#files.send(context, 200, 'page.html', needsOperatorHint ? withoutCommands : undefined);
    } else if (isReadRequest && head === 'assets' && rest.length === 1)
      void this.#files.send(context, 200, rest[0] ?? '');
    else if (method === 'GET' && path === '/inspector/feed')
      return () => this.#stream(context, (stream) => this.#watchers.watch(stream));
    else if (method === 'GET' && path === '/inspector/stately' && this.#gateway.config.inspector.stately)
      return () => this.#stream(context, (stream) => this.#watchers.streamToTool(stream));
    else if (isReadRequest && path === '/inspector/machines') void this.#machines(context);
    else if (isReadRequest && path === '/inspector/dead-letters')
      context.json(200, { recent: this.#deadLetters() }, securityHeaders);
    else if (isReadRequest && head === 'sessions' && rest.length <= 1) void this.#sessions(context, rest[0]);
    else if (isReadRequest && path === '/inspector/connect')
      context.json(
        200,
        connectFacts(this.#gateway.config, this.#gateway.mcp, this.#gatewayFile),
        securityHeaders,
      );
    else if (this.#tools.matches([head, ...rest])) return this.#tools.handle(context, [head, ...rest]);
    else if (method === 'GET' && head === 'runs' && rest.length === 2 && rest[1] === 'feed')
      return () => void this.#runs.open(context, decodeSegment(rest[0]));
    else if (head === 'api') return this.#api(routes, context, isReadRequest);
    else if (method === 'POST' && path === '/inspector/links')
      context.json(200, this.#newLink(), securityHeaders);
    else context.error(404, NOT_FOUND);
    return undefined;
  }

  /** Closes all feeds; pages reconnect to the next gateway process. */
  close(): void {
    this.#watchers.close();
  }

  #newLink(): EntryLink {
    return { path: this.#links.create(), expires_in_seconds: ENTRY_SECONDS };
  }

  /** Redirects to the page; sets the operator's cookie if the link is unused and not expired. */
  #enter({ request, reply }: ExchangeContext): void {
    // Link previews use HEAD; they do not consume the link.
    const isValidLink = request.method === 'GET' && this.#links.use(`${request.path}?${request.query}`);
    const cookie: HeaderList = isValidLink ? [['set-cookie', this.#access.operatorCookie()]] : [];
    reply.send(303, [...securityHeaders, ...cookie, ['location', '../inspector']]);
  }

  /** Opens a stream. `open` returns a cleanup function, called when the client disconnects. */
  #stream(context: ExchangeContext, open: (stream: HttpStream) => () => void): void {
    // An open feed delays the shutdown.
    if (this.#gateway.life.isEnding) {
      context.refuseWhileDraining();
      return;
    }
    const release = this.#slots.hold(1, principalText(context.principal));
    if (release === undefined) {
      context.error(503, 'too many viewers; close one of the pages', [['retry-after', '5']]);
      return;
    }
    const stop = open(context.reply.stream(200, context.headers(streamHeaders)));
    context.reply.onAbort(() => {
      stop();
      release();
    });
  }

  /** Handles an API request from the page (IN3). */
  #api(routes: RouteContext, context: ExchangeContext, isReadRequest: boolean): BodyHandler | undefined {
    const { config, life } = this.#gateway;
    const path = context.request.path.slice(API.length);
    const route = this.#apiRoute(path);
    const { methods } = route;
    const action = typeof methods === 'function' ? methods : methods.get(context.request.method);
    if (!isReadRequest && !config.inspector.commands)
      context.error(403, 'set inspector.commands: true in the gateway file to run commands in the inspector');
    else if (!isReadRequest && life.isEnding) context.refuseWhileDraining();
    else if (action === undefined || !(isReadRequest ? READ_PATHS : COMMAND_PATHS).test(path))
      context.error(404, NOT_FOUND);
    else if (route.access === 'operator' && context.principal !== this.#operator)
      context.error(401, OPERATOR_ONLY);
    else {
      context.isFromInspector = true;
      context.extraHeaders = [...context.extraHeaders, ...securityHeaders];
      const handle = action(routes, context, route.id);
      if (isReadRequest || handle === undefined) return handle;
      return (request, body, reply) => {
        // `body` is a string if the body is unusable, for example too large: the problem.
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

  /** Imports the definitions on first use: they include triggers, which many gateways do not use. */
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
    const query = parseSessionQuery(context.request.query);
    if (query === undefined) {
      const message = `from and count must be whole numbers, count at most ${MAX_COUNT}`;
      context.error(400, message);
      return;
    }
    try {
      const result = await (segment === undefined
        ? sessionList(sessions, query, redactor)
        : findSession(sessions, wholeNumber(segment) ?? 0, query.filter, redactor));
      if (result === undefined) context.error(404, 'no such session; it may have ended');
      else context.json(200, result, securityHeaders);
    } catch (error) {
      context.fail(error, (text) => redactor.redact(text));
    }
  }
}
