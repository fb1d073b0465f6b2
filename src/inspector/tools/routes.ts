// Routes below /inspector/servers/ID/tools. Their implementation is imported on first use.

import type { GatewayRuntime } from '../../../actors/gateway/gateway.ts';
import type { BodyHandler } from '../../http/listener/seam.ts';
import type { ExchangeContext } from '../../http/mcp/exchange-context.ts';
import { decodeSegment } from '../path-segment.ts';
import { NOT_FOUND, securityHeaders } from '../response-headers.ts';
import type { ToolCalls } from './calls.ts';
import type { ToolCatalog } from './catalog.ts';

interface Tools {
  readonly catalog: ToolCatalog;
  readonly calls: ToolCalls;
}

type CalledGateway = Pick<GatewayRuntime, 'config' | 'log' | 'redactor' | 'life' | 'mcp'>;

export class ToolRoutes {
  readonly #gateway: CalledGateway;
  #tools: Promise<Tools> | undefined;

  constructor(gateway: CalledGateway) {
    this.#gateway = gateway;
  }

  /** Returns true for the path segments of these routes. */
  matches([head, , tools]: readonly string[]): boolean {
    return head === 'servers' && tools === 'tools';
  }

  /** `segments` of the encoded path: `servers`, id, `tools`, and optionally the tool name and `call`. */
  handle(context: ExchangeContext, segments: readonly string[]): BodyHandler | undefined {
    const { method, query } = context.request;
    const [, id = '', , name, verb] = segments.map((segment) => decodeSegment(segment));
    const isReadRequest = method === 'GET' || method === 'HEAD';
    if (method === 'POST' && segments.length === 5 && verb === 'call' && name !== undefined)
      return (_, body) => {
        if (typeof body === 'string') context.refuseBody(body, this.#gateway.config.limits.body_bytes);
        else void this.#call(context, id, name, body);
      };
    if (isReadRequest && segments.length === 3)
      void this.#read(context, ({ catalog }) =>
        catalog.list(id, new URLSearchParams(query).get('filter') ?? ''),
      );
    else if (isReadRequest && segments.length === 4 && name !== undefined)
      void this.#read(context, ({ catalog }) => catalog.details(id, name));
    else context.error(404, NOT_FOUND);
    return undefined;
  }

  async #read(context: ExchangeContext, respond: (tools: Tools) => object): Promise<void> {
    try {
      context.json(200, respond(await this.#load()), securityHeaders);
    } catch (error) {
      this.#fail(context, error);
    }
  }

  async #call(context: ExchangeContext, id: string, name: string, body: Buffer): Promise<void> {
    const { config, life } = this.#gateway;
    if (!config.inspector.commands)
      context.error(403, 'set inspector.commands: true in the gateway file to call tools in the inspector');
    else if (life.isEnding) context.refuseWhileDraining();
    else
      try {
        const { calls } = await this.#load();
        // The page can disconnect while the module loads.
        if (!context.reply.isDone) await calls.call(context, id, name, body);
      } catch (error) {
        this.#fail(context, error);
      }
  }

  #load(): Promise<Tools> {
    this.#tools ??= createTools(this.#gateway);
    return this.#tools;
  }

  #fail(context: ExchangeContext, error: unknown): void {
    context.fail(error, (text) => this.#gateway.redactor.redact(text));
  }
}

async function createTools(gateway: CalledGateway): Promise<Tools> {
  const [{ ToolCalls }, { ToolCatalog }] = await Promise.all([import('./calls.ts'), import('./catalog.ts')]);
  return { catalog: new ToolCatalog(gateway), calls: new ToolCalls(gateway) };
}
