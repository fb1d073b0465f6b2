// The inspector's side of the gateway: what is under /inspector, and who is let in.
//
//   GET  /inspector, /inspector/view/…  the page; every view has an address of its own, and all are this page
//   GET  /inspector/assets/NAME         its scripts and styles
//   POST /inspector/session             the form with the key, for a cookie; /inspector/session/end takes it away
//   GET  /inspector/enter/CODE          a one-time link, for the same cookie; POST /inspector/links creates it
//   GET  /inspector/feed                server-sent events: tree, frame, numbers
//   GET  /inspector/stately             the same events for other tools, with inspector.stately only
//   GET  /inspector/machines            the machines' states and transitions, for the charts
//   GET  /inspector/servers/ID          one server, with its last lines on stderr
//   GET  /inspector/servers/ID/tools    its tools, …/tools/NAME one of them; POST …/tools/NAME/call calls it, with inspector.commands only
//   GET  /inspector/connect             what the page has to know to say how clients connect
//   GET  /inspector/sessions            a piece of the list of sessions; /inspector/sessions/N one of them
//   GET  /inspector/dead-letters        the last events that reached nobody, by type and target
//   GET  /inspector/dead-deliveries     the last events that were given up, without what came in them
//   GET  /inspector/waiting-deliveries  the last that are parked, with what they wait for
//   GET  /inspector/runs, /deliveries, /approvals, /agents   all of these; /inspector/runs/ID one run, and …/feed tells of it as it
//        goes on; /inspector/deliveries/ID one delivery, /inspector/flows/NAME one flow
//   POST /inspector/servers/ID/start, …/stop, /inspector/triggers/NAME/pause, …/resume, /inspector/runs/ID/cancel, …/retry,
//        /inspector/deliveries/ID/replay, …/discard, /inspector/approvals/ID/approve, …/deny, and /inspector/reload, with inspector.commands only
//
// IN1  if a key is required, requests without it receive only the key form and its assets.
// Requests other than reads require the operator (IA4).

import type { Redactor } from '../../actors/base/errors/redact.ts';
import { deadLettersOf } from '../../actors/base/supervision/dead-letters.ts';
import type { RootRef } from '../../actors/base/supervision/part.ts';
import type { Principal } from '../../actors/identity/principal.ts';
import type { Delivery, DeliveryState } from '../../actors/store/delivery.ts';
import { serverDetails } from '../http/api/records.ts';
import { OPERATOR_PROOF } from '../http/identification.ts';
import type { BodyHandler, HeaderList, HttpStream } from '../http/listener/seam.ts';
import type { ExchangeContext } from '../http/mcp/exchange-context.ts';
import type { ServedGateway } from '../http/route-context.ts';
import type { TriggersFront } from '../http/triggers-front.ts';
import { FORM_PATH, type InspectorAccess } from './access.ts';
import { NOTHING_THERE, securityHeaders, streamHeaders } from './answer-headers.ts';
import { connectFacts } from './connect-desk.ts';
import { ENTRY_SECONDS, EntryLinks } from './entry-links.ts';
import { ActorNames } from './feed/actor-names.ts';
import { deadDelivery, waitingDelivery } from './feed/trigger-numbers.ts';
import { Watchers } from './feed/watchers.ts';
import { KeyForm } from './key-form.ts';
import { OperatorCommands } from './operator-commands.ts';
import { PageFiles } from './page-files.ts';
import { RunRoutes } from './runs/run-routes.ts';
import { MAX_COUNT, readQuery, sessionList, sessionPlace, wholeNumber } from './session-list.ts';
import { ToolRoutes } from './tools/tool-routes.ts';

const MAX_DELIVERIES = 50;

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
  /** Reads the catalog again and applies it; throws ConfigError. */
  reload(): Promise<unknown>;
}

export class Inspector {
  readonly #gateway: ServedGateway;
  readonly #root: RootRef;
  readonly #access: InspectorAccess;
  readonly #links: EntryLinks;
  readonly #operator: Principal;
  readonly #automation: TriggersFront['automation'] | undefined;
  readonly #names: ActorNames;
  readonly #files = new PageFiles();
  readonly #keyForm: KeyForm;
  readonly #watchers: Watchers;
  readonly #runs: RunRoutes;
  readonly #tools: ToolRoutes;
  readonly #commands: OperatorCommands;

  constructor({ gateway, root, access, links, operator, triggers, reload }: InspectorOptions) {
    this.#gateway = gateway;
    this.#root = root;
    this.#access = access;
    this.#links = links;
    this.#operator = operator;
    this.#keyForm = new KeyForm(access, this.#files);
    this.#automation = triggers?.automation;
    this.#names = new ActorNames(gateway.redactor);
    this.#watchers = new Watchers(gateway, root, triggers?.figures);
    this.#runs = new RunRoutes(gateway, triggers?.automation);
    this.#tools = new ToolRoutes(gateway);
    const automation = triggers?.automation;
    const { config, redactor, life, mcp } = gateway;
    this.#commands = new OperatorCommands({
      ...{ config, redactor, life, servers: mcp.servers, runs: this.#runs, automation, reload },
    });
  }

  /** Answers a request for a path under /inspector; Host and Origin have been checked. */
  handle(context: ExchangeContext): BodyHandler | undefined {
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
    else if (isRead && path === '/inspector/dead-deliveries')
      void this.#deliveries(context, 'dead', deadDelivery);
    else if (isRead && path === '/inspector/waiting-deliveries')
      void this.#deliveries(context, 'waiting', waitingDelivery);
    else if (isRead && head === 'sessions' && rest.length <= 1) void this.#sessions(context, rest[0]);
    else if (isRead && path === '/inspector/connect')
      context.json(200, connectFacts(this.#gateway.config, this.#gateway.mcp), securityHeaders);
    else if (this.#tools.has([head, ...rest])) return this.#tools.handle(context, [head, ...rest]);
    else if (isRead && head === 'servers' && rest.length === 1) this.#server(context, rest[0] ?? '');
    else if (isRead && this.#runs.has(head)) return this.#runs.get(context, [head, ...rest]);
    else if (method === 'POST' && path === '/inspector/links')
      context.json(200, { path: this.#links.create(), expires_in_seconds: ENTRY_SECONDS }, securityHeaders);
    else if (method === 'POST')
      return (_, body) => {
        if (typeof body !== 'string') void this.#commands.run(context, [head, ...rest], body);
        else context.refuseBody(body, this.#gateway.config.limits.body_bytes);
      };
    else context.error(404, NOTHING_THERE);
    return undefined;
  }

  /** Ends every feed; their viewers come back to the next gateway. */
  close(): void {
    this.#watchers.close();
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

  #deadLetters() {
    return deadLettersOf(this.#root.system).recent.map(({ type, target }) => ({
      type: this.#names.eventOf(type),
      target: this.#names.nameOf(target),
    }));
  }

  /** The newest first; the page gives up waiting by itself. */
  async #deliveries(
    context: ExchangeContext,
    state: DeliveryState,
    shown: (delivery: Delivery, redactor: Redactor) => object,
  ): Promise<void> {
    const { redactor } = this.#gateway;
    try {
      const found = await this.#automation?.operator.deliveries({ states: [state], limit: MAX_DELIVERIES });
      const recent = (found ?? []).map((delivery) => shown(delivery, redactor));
      context.json(200, { recent }, securityHeaders);
    } catch (error) {
      context.fail(error, (text) => redactor.redact(text));
    }
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

  #server(context: ExchangeContext, segment: string): void {
    const server = this.#gateway.mcp.servers.get(segment);
    if (server === undefined) {
      context.error(404, `there is no server ${JSON.stringify(segment.slice(0, 64))}`);
      return;
    }
    const redact = (text: string) => this.#gateway.redactor.redact(text);
    context.json(200, serverDetails(server, redact), securityHeaders);
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
