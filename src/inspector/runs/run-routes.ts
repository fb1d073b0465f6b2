// The addresses of runs, deliveries, approvals, agents and flows under /inspector. What answers them (run-desk.ts) is loaded when one is asked for: a gateway without
// triggers has none of it in memory.

import type { RunningAutomation } from '../../../actors/automation/running-automation.ts';
import type { Gateway } from '../../../actors/gateway/gateway.ts';
import type { Principal } from '../../../actors/identity/principal.ts';
import type { BodyHandler, HttpStream } from '../../http/listener/seam.ts';
import type { ExchangeContext } from '../../http/mcp/exchange-context.ts';
import { NOTHING_THERE, securityHeaders, streamHeaders } from '../answer-headers.ts';
import type { RunDesk } from './run-desk.ts';

const NO_AGENTS = 'this gateway has no agents, so no runs; spec.agents in its file names a folder of them';
const heads: ReadonlySet<string> = new Set(['runs', 'deliveries', 'approvals', 'agents', 'flows']);

export class RunRoutes {
  readonly #gateway: Pick<Gateway, 'redactor' | 'life' | 'mcp'>;
  readonly #automation: RunningAutomation | undefined;
  #desk: Promise<RunDesk | undefined> | undefined;

  /** `automation` where there are triggers. */
  constructor(
    gateway: Pick<Gateway, 'redactor' | 'life' | 'mcp'>,
    automation: RunningAutomation | undefined,
  ) {
    this.#gateway = gateway;
    this.#automation = automation;
  }

  /** Whether what begins with this word is answered here. */
  has(head: string): boolean {
    return heads.has(head);
  }

  /** Answers a GET for what stands behind /inspector/, each word as it is in the path. */
  get(context: ExchangeContext, words: readonly string[]): BodyHandler | undefined {
    const [head = '', name = '', verb] = words.map(decoded);
    if (words.length === 3 && head === 'runs' && verb === 'feed' && context.request.method === 'GET')
      return () => void this.#watch(context, name);
    if (words.length > 2) context.error(404, NOTHING_THERE);
    else void this.#read(context, words.map(decoded));
    return undefined;
  }

  /** What a POST asks for; what it gives is the answer. Undefined when there is no such thing. */
  async action(
    words: readonly string[],
    body: Buffer,
    principal: Principal,
  ): Promise<(() => Promise<unknown>) | undefined> {
    return (await this.#loaded())?.action(words.map(decoded), body, principal);
  }

  async #watch(context: ExchangeContext, id: string): Promise<void> {
    let leave: (() => void) | undefined;
    let isGone = false;
    const begin = (): HttpStream => {
      context.reply.onAbort(() => {
        isGone = true;
        leave?.();
      });
      return context.reply.stream(200, context.headers(streamHeaders));
    };
    try {
      const desk = await this.#loaded();
      // A stream would hold up the end of the gateway.
      if (this.#gateway.life.isEnding) context.refuseWhileDraining();
      else if (desk === undefined) context.error(404, NO_AGENTS);
      else leave = await desk.watch(id, begin);
      if (isGone) leave?.();
    } catch (error) {
      this.#fail(context, error);
    }
  }

  async #read(context: ExchangeContext, words: readonly string[]): Promise<void> {
    try {
      const desk = await this.#loaded();
      const found = await desk?.read(words, context.request.query);
      if (found !== undefined) context.json(200, found, securityHeaders);
      else context.error(404, desk === undefined ? NO_AGENTS : NOTHING_THERE);
    } catch (error) {
      this.#fail(context, error);
    }
  }

  #loaded(): Promise<RunDesk | undefined> {
    const automation = this.#automation;
    if (automation === undefined) return Promise.resolve(undefined);
    this.#desk ??= import('./run-desk.ts').then(({ RunDesk }) => new RunDesk(this.#gateway, automation));
    return this.#desk;
  }

  #fail(context: ExchangeContext, error: unknown): void {
    context.fail(error, (text) => this.#gateway.redactor.redact(text));
  }
}

/** A name that is written wrongly is a name of nothing. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}
