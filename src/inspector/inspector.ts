// The inspector's side of the gateway: what is under /inspector, and who watches.
//
//   GET  /inspector, /inspector/view/…  the page; every view has an address of its own, and all are this page
//   GET  /inspector/assets/NAME         its scripts and styles
//   POST /inspector/session             the form with the key, for a cookie; /inspector/session/end takes it away
//   GET  /inspector/feed                server-sent events: tree, frame, numbers
//   GET  /inspector/stately             the same events for other tools, with inspector.stately only
//   GET  /inspector/machines            the machines' states and transitions, for the charts
//   GET  /inspector/servers/ID          one server, with its last lines on stderr
//   GET  /inspector/dead-letters        the last events that reached nobody, by type and target
//   POST /inspector/servers/ID/start, …/stop, and /inspector/reload, with inspector.commands only
//
// IN1  without the key nothing is served but the form that asks for it and the form's style.
// IN2  while nobody watches, no actor is inspected and no timer runs.

import type { Reception } from '../../actors/client/reception.ts';
import { deadLettersOf } from '../../actors/dead-letters.ts';
import type { Gateway } from '../../actors/gateway/gateway.ts';
import { ConfigError, formatProblem } from '../../config/problem.ts';
import type { ExchangeContext } from '../http/exchange-context.ts';
import { serverDetails } from '../http/records.ts';
import type { BodyHandler, HeaderList, HttpStream } from '../http/seam.ts';
import type { InspectorAccess } from './access.ts';
import { ActorFeed } from './actor-feed.ts';
import { machineDefinitions } from './machine-definitions.ts';
import { PageFiles } from './page-files.ts';
import { ChangedNumbers, numbersOf } from './server-numbers.ts';
import { tellStately } from './stately-stream.ts';
import { eventText, Viewer } from './viewer.ts';
import type { Totals } from './wire.ts';

const PULSE_MS = 1_000;
const BEAT_PULSES = 15;
/** One more is refused: a page that opens streams in a loop must not use up the listener (A8). */
const MAX_VIEWERS = 64;
/** A key is a line of text. */
const MAX_FORM_BYTES = 16_384;
/** Lines; under session isolation a server is many processes. */
const MAX_STDERR = 100;

/** What the form that asks for the key is made of, besides itself. */
const formFiles: ReadonlySet<string> = new Set(['key.css', 'icon.svg']);

const securityHeaders: HeaderList = [
  [
    'content-security-policy',
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
      "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  ],
  ['x-content-type-options', 'nosniff'],
  // Not `no-referrer`: browsers would send the key form with `Origin: null`.
  ['referrer-policy', 'same-origin'],
  ['cache-control', 'no-store'],
];

export interface InspectorOptions {
  readonly gateway: Gateway;
  readonly reception: Reception;
  readonly access: InspectorAccess;
  /** Reads the catalog again and applies it; throws ConfigError. */
  reload(): Promise<unknown>;
}

export class Inspector {
  readonly #gateway: Gateway;
  readonly #access: InspectorAccess;
  readonly #reception: Reception;
  readonly #reload: () => Promise<unknown>;
  readonly #files = new PageFiles();
  readonly #feed: ActorFeed;
  readonly #viewers = new Set<Viewer>();
  /** Other tools than the page. */
  readonly #others = new Set<{ end(): void; silence(): void }>();
  readonly #numbers = new ChangedNumbers();
  #unwatch: (() => void) | undefined;
  #pulse: NodeJS.Timeout | undefined;
  #pulses = 0;
  /** What the feed had dropped at the last pulse. */
  #dropped = 0;

  constructor({ gateway, reception, access, reload }: InspectorOptions) {
    this.#gateway = gateway;
    this.#reception = reception;
    this.#reload = reload;
    this.#access = access;
    this.#feed = new ActorFeed(gateway.root);
  }

  /** Those who watch at the moment. */
  get viewers(): number {
    return this.#viewers.size;
  }

  /** Answers a request for a path under /inspector; Host and Origin have been checked. */
  handle(context: ExchangeContext): BodyHandler | undefined {
    const { method, path } = context.request;
    const [, , head = '', ...rest] = path.split('/');
    const isRead = method === 'GET' || method === 'HEAD';
    if (path === '/inspector/session' && method === 'POST')
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
    else if (method === 'GET' && path === '/inspector/feed') return () => this.#watch(context);
    else if (method === 'GET' && path === '/inspector/stately' && this.#gateway.config.inspector.stately)
      return () => this.#tellOthers(context);
    else if (isRead && path === '/inspector/machines')
      context.json(200, { machines: machineDefinitions() }, securityHeaders);
    else if (isRead && path === '/inspector/dead-letters')
      context.json(200, { recent: deadLettersOf(this.#gateway.root.system).recent }, securityHeaders);
    else if (isRead && head === 'servers' && rest.length === 1) this.#server(context, rest[0] ?? '');
    else if (method === 'POST') return () => void this.#command(context, [head, ...rest]);
    else context.error(404, 'the inspector has nothing there; its page is at /inspector');
    return undefined;
  }

  /** Ends every feed; their viewers come back to the next gateway. */
  close(): void {
    const farewell = eventText('numbers', { ...this.#totals(), is_draining: true, servers: [], gone: [] });
    for (const viewer of this.#viewers) {
      viewer.send(farewell);
      viewer.end();
    }
    this.#viewers.clear();
    for (const { end, silence } of this.#others) {
      silence();
      end();
    }
    this.#others.clear();
    this.#rest();
  }

  #enter(context: ExchangeContext, body: Buffer | undefined): void {
    const form = body === undefined || body.length > MAX_FORM_BYTES ? undefined : body.toString('utf8');
    const key = new URLSearchParams(form).get('key') ?? '';
    const cookie = this.#access.cookieFor(key);
    if (cookie === undefined) void this.#file(context, 403, 'key-wrong.html');
    else {
      const location = viewIn(context.request.headers.referer);
      context.reply.send(303, [...securityHeaders, ['set-cookie', cookie], ['location', location]]);
    }
  }

  /** The stream of one more who watches; undefined when there is no room, and that has been answered. */
  #admit(context: ExchangeContext): HttpStream | undefined {
    // A feed would hold up the end of the gateway.
    if (this.#gateway.isDraining) {
      context.refuseWhileDraining();
      return undefined;
    }
    if (this.#viewers.size + this.#others.size >= MAX_VIEWERS) {
      context.error(503, `${MAX_VIEWERS} watch already; close one of them`, [['retry-after', '5']]);
      return undefined;
    }
    const type = ['content-type', 'text/event-stream'] as const;
    const headers = [...securityHeaders, type, ['x-accel-buffering', 'no'] as const];
    return context.reply.stream(200, context.headers(headers));
  }

  #tellOthers(context: ExchangeContext): void {
    const stream = this.#admit(context);
    if (stream === undefined) return;
    const silence = tellStately(this.#gateway.root, stream);
    const other = { end: () => stream.end(), silence };
    this.#others.add(other);
    context.reply.onAbort(() => {
      silence();
      this.#others.delete(other);
    });
  }

  #watch(context: ExchangeContext): void {
    const stream = this.#admit(context);
    if (stream === undefined) return;
    // Begun before the tree is read, so that nothing falls between the two.
    this.#rise();
    const viewer = new Viewer(stream, (missed) => this.#whole(missed));
    this.#viewers.add(viewer);
    viewer.sendWhole();
    context.reply.onAbort(() => {
      this.#viewers.delete(viewer);
      if (this.#viewers.size === 0) this.#rest();
    });
  }

  #rise(): void {
    this.#unwatch ??= this.#feed.watch((frame) => {
      const message = eventText('frame', frame);
      for (const viewer of this.#viewers) viewer.send(message);
    });
    this.#pulse ??= setInterval(() => this.#onPulse(), PULSE_MS).unref();
  }

  #rest(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    clearInterval(this.#pulse);
    this.#pulse = undefined;
  }

  #onPulse(): void {
    const numbers = { ...this.#totals(), ...this.#numbers.take(this.#gateway.fleet.all()) };
    const message = eventText('numbers', numbers);
    this.#pulses += 1;
    const isIncomplete = this.#feed.dropped !== this.#dropped;
    this.#dropped = this.#feed.dropped;
    for (const viewer of this.#viewers) {
      viewer.send(message);
      // What had no room in a frame may have been the end of an actor (AF3).
      if (isIncomplete) viewer.sendWhole();
      if (this.#pulses % BEAT_PULSES === 0) viewer.heartbeat();
    }
  }

  /** The tree and the numbers of every server. */
  #whole(missed: number): string {
    const tree = { ...this.#feed.tree(), started_at: this.#gateway.startedAt, missed };
    const numbers = { ...this.#totals(), servers: this.#gateway.fleet.all().map(numbersOf), gone: [] };
    this.#numbers.forget();
    return eventText('tree', tree) + eventText('numbers', numbers);
  }

  #totals(): Totals {
    const { config, sessions, deadLetters, startedAt, version, isDraining } = this.#gateway;
    return {
      at: Date.now(),
      version,
      started_at: startedAt,
      is_draining: isDraining,
      commands: config.inspector.commands,
      requests: { ...this.#reception.counts },
      sessions: sessions.size,
      listens: sessions.listens,
      dead_letters: deadLetters,
      viewers: this.#viewers.size,
    };
  }

  /** What an operator may do here when the configuration lets them. */
  async #command(context: ExchangeContext, [head, id = '', verb]: readonly string[]): Promise<void> {
    const { config, fleet, redactor, isDraining } = this.#gateway;
    const server = head === 'servers' ? fleet.get(id) : undefined;
    try {
      if (!config.inspector.commands)
        context.error(403, 'set inspector.commands: true in the gateway file to act from here');
      else if (isDraining) context.refuseWhileDraining();
      else if (head === 'reload') context.json(200, await this.#reload(), securityHeaders);
      else if (server !== undefined && verb === 'start') {
        await server.start();
        context.json(200, numbersOf(server), securityHeaders);
      } else if (server !== undefined && verb === 'stop') {
        await server.stop();
        context.json(200, numbersOf(server), securityHeaders);
      } else context.error(404, 'there is no such server, or nothing like that to be done with it');
    } catch (error) {
      const problems = error instanceof ConfigError ? error.problems.map(formatProblem) : [];
      if (problems.length > 0)
        context.error(422, 'the configuration has errors and nothing was changed', [], {
          problems: problems.map((problem) => redactor.redact(problem)),
        });
      else context.fail(error, (text) => redactor.redact(text));
    }
  }

  #server(context: ExchangeContext, segment: string): void {
    const server = this.#gateway.fleet.get(segment);
    if (server === undefined) {
      context.error(404, `there is no server ${JSON.stringify(segment.slice(0, 64))}`);
      return;
    }
    const redact = (text: string) => this.#gateway.redactor.redact(text);
    const lines = [...server.pool.members].flatMap(({ connection }) => connection.link.stderrTail);
    const stderr = lines.length > 0 ? lines : lastWords(server.lastError);
    const shown = stderr.slice(-MAX_STDERR).map(redact);
    context.json(200, { ...serverDetails(server, redact), stderr: shown }, securityHeaders);
  }

  async #file(context: ExchangeContext, status: number, name: string): Promise<void> {
    const file = await this.#files.read(name);
    if (file === undefined) context.error(404, 'this build of the gateway has no inspector page');
    else
      context.reply.send(
        status,
        context.headers([...securityHeaders, ['content-type', file.type]]),
        file.bytes,
      );
  }
}

/** What a server wrote that could not be started. */
function lastWords(error: object | undefined): readonly string[] {
  return error !== undefined && 'stderrTail' in error ? (error.stderrTail as readonly string[]) : [];
}

/** The view that the key was asked for: whoever follows a link to it gets there. */
function viewIn(referer = ''): string {
  return /^https?:\/\/[^/]+(\/inspector\/view\/[\w%.~/-]{1,500})$/.exec(referer)?.[1] ?? '/inspector';
}
