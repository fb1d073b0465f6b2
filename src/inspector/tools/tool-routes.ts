// The addresses of tools under /inspector/servers/ID/tools. What answers them is loaded when one is asked for.

import type { Gateway } from '../../../actors/gateway/gateway.ts';
import type { BodyHandler } from '../../http/listener/seam.ts';
import type { ExchangeContext } from '../../http/mcp/exchange-context.ts';
import { NOTHING_THERE, securityHeaders } from '../answer-headers.ts';
import { decodedSegment } from '../path-segment.ts';
import type { ToolCalls } from './tool-call.ts';
import type { ToolDesk } from './tool-desk.ts';

interface Tools {
  readonly desk: ToolDesk;
  readonly calls: ToolCalls;
}

type CalledGateway = Pick<Gateway, 'config' | 'log' | 'redactor' | 'life' | 'mcp'>;

export class ToolRoutes {
  readonly #gateway: CalledGateway;
  #tools: Promise<Tools> | undefined;

  constructor(gateway: CalledGateway) {
    this.#gateway = gateway;
  }

  /** Whether what stands behind /inspector/ is answered here. */
  has([head, , tools]: readonly string[]): boolean {
    return head === 'servers' && tools === 'tools';
  }

  /** `words` as they are in the path: `servers`, the id, `tools`, and the name of a tool, and `call`. */
  handle(context: ExchangeContext, words: readonly string[]): BodyHandler | undefined {
    const { method, query } = context.request;
    const [, id = '', , name, verb] = words.map((word) => decodedSegment(word));
    const isRead = method === 'GET' || method === 'HEAD';
    if (method === 'POST' && words.length === 5 && verb === 'call' && name !== undefined)
      return (_, body) => {
        if (typeof body === 'string') context.refuseBody(body, this.#gateway.config.limits.body_bytes);
        else void this.#call(context, id, name, body);
      };
    if (isRead && words.length === 3)
      void this.#read(context, ({ desk }) => desk.list(id, new URLSearchParams(query).get('filter') ?? ''));
    else if (isRead && words.length === 4 && name !== undefined)
      void this.#read(context, ({ desk }) => desk.details(id, name));
    else context.error(404, NOTHING_THERE);
    return undefined;
  }

  async #read(context: ExchangeContext, answer: (tools: Tools) => object): Promise<void> {
    try {
      context.json(200, answer(await this.#loaded()), securityHeaders);
    } catch (error) {
      this.#fail(context, error);
    }
  }

  async #call(context: ExchangeContext, id: string, name: string, body: Buffer): Promise<void> {
    const { config, life } = this.#gateway;
    if (!config.inspector.commands)
      context.error(403, 'set inspector.commands: true in the gateway file to call tools from here');
    else if (life.isEnding) context.refuseWhileDraining();
    else
      try {
        const { calls } = await this.#loaded();
        // It may have gone meanwhile.
        if (!context.reply.isDone) await calls.call(context, id, name, body);
      } catch (error) {
        this.#fail(context, error);
      }
  }

  #loaded(): Promise<Tools> {
    this.#tools ??= load(this.#gateway);
    return this.#tools;
  }

  #fail(context: ExchangeContext, error: unknown): void {
    context.fail(error, (text) => this.#gateway.redactor.redact(text));
  }
}

async function load(gateway: CalledGateway): Promise<Tools> {
  const [{ ToolCalls }, { ToolDesk }] = await Promise.all([
    import('./tool-call.ts'),
    import('./tool-desk.ts'),
  ]);
  return { desk: new ToolDesk(gateway), calls: new ToolCalls(gateway) };
}
