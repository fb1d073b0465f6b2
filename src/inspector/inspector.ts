// The inspector's side of the gateway: what is under /inspector, and who is let in.
//
//   GET  /inspector, /inspector/view/…  the page; every view has an address of its own, and all are this page
//   GET  /inspector/assets/NAME         its scripts and styles
//   POST /inspector/session             the form with the key, for a cookie; /inspector/session/end takes it away
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
// IN1  without the key nothing is served but the form that asks for it and what that is made of.

import { deadLettersOf } from '../../actors/dead-letters.ts';
import type { Gateway } from '../../actors/gateway/gateway.ts';
import type { Principal } from '../../actors/principal.ts';
import type { Redactor } from '../../actors/redact.ts';
import type { Delivery, DeliveryState } from '../../actors/store/delivery.ts';
import { ConfigError, formatProblem } from '../../config/reader/problem.ts';
import { serverDetails } from '../http/api/records.ts';
import type { BodyHandler, HttpStream } from '../http/listener/seam.ts';
import type { ExchangeContext } from '../http/mcp/exchange-context.ts';
import type { TriggersFront } from '../http/triggers-front.ts';
import { FORM_PATH, type InspectorAccess } from './access.ts';
import { ActorNames } from './actor-names.ts';
import { NOTHING_THERE, securityHeaders, streamHeaders } from './answer-headers.ts';
import { connectFacts } from './connect-desk.ts';
import { PageFiles } from './page-files.ts';
import { RunRoutes } from './run-routes.ts';
import { numbersOf } from './server-numbers.ts';
import { MAX_COUNT, readQuery, sessionList, sessionPlace, wholeNumber } from './session-list.ts';
import { ToolRoutes } from './tool-routes.ts';
import { deadDelivery, triggerNumbers, waitingDelivery } from './trigger-numbers.ts';
import { Watchers } from './watchers.ts';

/** A key is a line of text. */
const MAX_FORM_BYTES = 16_384;
const MAX_DELIVERIES = 50;

/** What the form that asks for the key is made of, besides itself. */
const formFiles: ReadonlySet<string> = new Set(['key.css', 'icon.svg']);

export interface InspectorOptions {
  readonly gateway: Gateway;
  readonly access: InspectorAccess;
  /** Where there are triggers. */
  readonly triggers: Pick<TriggersFront, 'automation' | 'figures'> | undefined;
  /** Reads the catalog again and applies it; throws ConfigError. */
  reload(): Promise<unknown>;
}

export class Inspector {
  readonly #gateway: Gateway;
  readonly #access: InspectorAccess;
  readonly #automation: TriggersFront['automation'] | undefined;
  readonly #names: ActorNames;
  readonly #reload: () => Promise<unknown>;
  readonly #files = new PageFiles();
  readonly #watchers: Watchers;
  readonly #runs: RunRoutes;
  readonly #tools: ToolRoutes;

  constructor({ gateway, access, triggers, reload }: InspectorOptions) {
    this.#gateway = gateway;
    this.#reload = reload;
    this.#access = access;
    this.#automation = triggers?.automation;
    this.#names = new ActorNames(gateway.redactor);
    this.#watchers = new Watchers(gateway, triggers?.figures);
    this.#runs = new RunRoutes(gateway, triggers?.automation);
    this.#tools = new ToolRoutes(gateway);
  }

  /** Answers a request for a path under /inspector; Host and Origin have been checked. */
  handle(context: ExchangeContext): BodyHandler | undefined {
    const { method, path } = context.request;
    const [, , head = '', ...rest] = path.split('/');
    const isRead = method === 'GET' || method === 'HEAD';
    if (path === FORM_PATH && method === 'POST')
      return (_, body) => this.#enter(context, typeof body === 'string' ? undefined : body);
    if (path === '/inspector/session/end' && method === 'POST') {
      context.reply.send(303, [
        ...securityHeaders,
        ['set-cookie', this.#access.noCookie],
        ['location', '/inspector'],
      ]);
      return undefined;
    }
    if (isRead && head === 'assets' && rest.length === 1 && formFiles.has(rest[0] ?? '')) {
      void this.#file(context, 200, rest[0] ?? '');
      return undefined;
    }
    if (!this.#access.isAdmitted(context)) {
      if (isRead && (head === '' || head === 'view')) void this.#file(context, 401, 'key.html');
      else context.error(401, 'the inspector needs the API key; open /inspector in a browser and enter it');
      return undefined;
    }
    if (isRead && (head === '' || head === 'view')) void this.#file(context, 200, 'page.html');
    else if (isRead && head === 'assets' && rest.length === 1) void this.#file(context, 200, rest[0] ?? '');
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
      context.json(200, connectFacts(this.#gateway), securityHeaders);
    else if (this.#tools.has([head, ...rest])) return this.#tools.handle(context, [head, ...rest]);
    else if (isRead && head === 'servers' && rest.length === 1) this.#server(context, rest[0] ?? '');
    else if (isRead && this.#runs.has(head)) return this.#runs.get(context, [head, ...rest]);
    else if (method === 'POST')
      return (_, body) => {
        if (typeof body !== 'string') void this.#command(context, [head, ...rest], body);
        else context.refuseBody(body, this.#gateway.config.limits.body_bytes);
      };
    else context.error(404, NOTHING_THERE);
    return undefined;
  }

  /** Ends every feed; their viewers come back to the next gateway. */
  close(): void {
    this.#watchers.close();
  }

  #enter(context: ExchangeContext, body: Buffer | undefined): void {
    const text = body === undefined || body.length > MAX_FORM_BYTES ? undefined : body.toString('utf8');
    const form = new URLSearchParams(text);
    const cookie = this.#access.cookieFor(form.get('key') ?? '');
    const view = viewOf(form.get('view') ?? '') ?? viewIn(context.request.headers.referer);
    if (cookie === undefined) void this.#wrongKey(context, view);
    else
      context.reply.send(303, [
        ...securityHeaders,
        ['set-cookie', cookie],
        ['location', view ?? '/inspector'],
      ]);
  }

  /** The form once more. It comes from another address than the first one did, so that it must know itself which view was wanted. */
  async #wrongKey(context: ExchangeContext, view: string | undefined): Promise<void> {
    const field = view === undefined ? '' : `<input type="hidden" name="view" value="${escaped(view)}">`;
    await this.#file(context, 403, 'key-wrong.html', (html) => html.replace('<!-- view -->', () => field));
  }

  /** Begins a stream for one more who watches; what `begin` gives ends it when the client goes away. */
  #stream(context: ExchangeContext, begin: (stream: HttpStream) => () => void): void {
    // A feed would hold up the end of the gateway.
    if (this.#gateway.isDraining) context.refuseWhileDraining();
    else if (this.#watchers.isFull)
      context.error(503, 'too many watch already; close one of them', [['retry-after', '5']]);
    else {
      context.reply.onAbort(begin(context.reply.stream(200, context.headers(streamHeaders))));
    }
  }

  /** What an operator may do here when the configuration lets them. */
  async #command(context: ExchangeContext, words: readonly string[], body: Buffer): Promise<void> {
    const { config, redactor, isDraining } = this.#gateway;
    try {
      const act = await this.#action(words, body, context.principal);
      if (!config.inspector.commands)
        context.error(403, 'set inspector.commands: true in the gateway file to act from here');
      else if (isDraining) context.refuseWhileDraining();
      else if (act === undefined)
        context.error(
          404,
          'there is no such server, trigger, run, delivery or approval, or nothing like that to be done with it',
        );
      else context.json(200, await act(), securityHeaders);
    } catch (error) {
      const problems = error instanceof ConfigError ? error.problems.map(formatProblem) : [];
      if (problems.length > 0)
        context.error(422, 'the configuration has errors and nothing was changed', [], {
          problems: problems.map((problem) => redactor.redact(problem)),
        });
      else context.fail(error, (text) => redactor.redact(text));
    }
  }

  /** What the words of a path ask for; what it gives is the answer. Undefined when there is no such thing. */
  async #action(
    words: readonly string[],
    body: Buffer,
    principal: Principal,
  ): Promise<(() => Promise<unknown>) | undefined> {
    const [head = '', name = '', verb] = words;
    if (head === 'reload') return this.#reload;
    if (this.#runs.has(head)) return this.#runs.action(words, body, principal);
    if (head === 'servers') {
      const server = this.#gateway.servers.get(name);
      if (server === undefined || (verb !== 'start' && verb !== 'stop')) return undefined;
      return async () => {
        await server[verb]();
        return numbersOf(server, this.#gateway.redactor);
      };
    }
    const trigger = head === 'triggers' ? this.#automation?.triggers.get(name) : undefined;
    if (trigger === undefined || (verb !== 'pause' && verb !== 'resume')) return undefined;
    return async () => {
      const status = await this.#automation?.operator[verb](trigger.name);
      return status && triggerNumbers(status, this.#gateway.redactor);
    };
  }

  #deadLetters() {
    return deadLettersOf(this.#gateway.root.system).recent.map(({ type, target }) => ({
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
      const { machineDefinitions } = await import('./machine-definitions.ts');
      context.json(200, { machines: machineDefinitions() }, securityHeaders);
    } catch (error) {
      context.fail(error, (text) => this.#gateway.redactor.redact(text));
    }
  }

  #server(context: ExchangeContext, segment: string): void {
    const server = this.#gateway.servers.get(segment);
    if (server === undefined) {
      context.error(404, `there is no server ${JSON.stringify(segment.slice(0, 64))}`);
      return;
    }
    const redact = (text: string) => this.#gateway.redactor.redact(text);
    context.json(200, serverDetails(server, redact), securityHeaders);
  }

  async #sessions(context: ExchangeContext, segment: string | undefined): Promise<void> {
    const { sessions, redactor } = this.#gateway;
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

  async #file(
    context: ExchangeContext,
    status: number,
    name: string,
    change?: (text: string) => string,
  ): Promise<void> {
    const file = await this.#files.read(name);
    if (file === undefined) context.error(404, 'this build of the gateway has no inspector page');
    else
      context.reply.send(
        status,
        context.headers([...securityHeaders, ['content-type', file.type]]),
        change === undefined ? file.bytes : change(file.bytes.toString('utf8')),
      );
  }
}

/** The view that the key was asked for: whoever follows a link to it gets there. */
function viewIn(referer = ''): string | undefined {
  return viewOf(/^https?:\/\/[^/]+(\/.*)$/.exec(referer)?.[1] ?? '');
}

/** A path that is one of a view. */
function viewOf(path: string): string | undefined {
  return /^\/inspector\/view\/[\w%.~!*'()/-]{1,500}(\?[\w%.~!*'()+=&-]{0,500})?$/.test(path)
    ? path
    : undefined;
}

/** Such a path as the value of an attribute: of what means something in HTML it has only this. */
const escaped = (path: string) => path.replaceAll('&', '&amp;');
