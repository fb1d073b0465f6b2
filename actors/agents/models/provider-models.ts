// Sends model requests to the configured providers. Tries the models of an agent in order (retries.ts), and
// returns the first answer with its cost. Client libraries are loaded by `prepare` or the first request. An
// aborted request leaves neither sockets nor timers. A model's permanent failure is logged once per outage,
// even if a fallback answers. A request that a provider refuses for a tool or for images is repeated without
// them (request-parts.ts).

import type { Prices } from '../../../config/gateway-file/provider-schema.ts';
import type { Providers, ResolvedProvider } from '../../../config/gateway-file/providers.ts';
import type { ModelName } from '../../../config/resources/agents/model-runtime.ts';
import { abortOverdueWork } from '../../../libs/rest/process-suspension.ts';
import type { Usage } from '../../../machines/agent-run/journal.ts';
import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import type { Log } from '../../base/errors/log.ts';
import { eventRepair } from './event-repair.ts';
import { type ExchangeLimits, ModelExchange } from './exchange.ts';
import type { LoadableModels, ModelAnswer, ModelRequest, ModelRequestOptions } from './model.ts';
import { faultText, ModelFaultError, nameOf } from './model-errors.ts';
import { KnownModels } from './model-traits.ts';
import { loadClient } from './providers.ts';
import { rehearse } from './rehearse.ts';
import { ModelRequestParts } from './request-parts.ts';
import { repeatRequest } from './retries.ts';

/**
 * Returns the cost in the unit of the prices, which operators configure; undefined without price or usage
 * figures.
 */
export function costOf(
  name: string,
  { input, output, cached = 0 }: Usage,
  prices: Prices,
): number | undefined {
  const price = Object.hasOwn(prices, name) ? prices[name] : undefined;
  if (price === undefined || input === undefined || output === undefined) return undefined;
  const fromCache = Math.min(cached, input);
  const inputCost = (input - fromCache) * price.input + fromCache * (price.cached_input ?? price.input);
  return (inputCost + output * price.output) / 1_000_000;
}

/** Default of Node's fetch. */
const NODE_TIMEOUT_MS = 300_000;
const dispatcherKey = Symbol.for('undici.globalDispatcher.1');

type MakeDispatcher = new (options: {
  readonly headersTimeout: number;
  readonly bodyTimeout: number;
}) => object;

/** Cached fetch that has no time limit. */
let unlimitedFetch: typeof fetch | undefined;

/** Aborts overdue work before the request is sent (libs/rest/process-suspension.ts). */
const checkedFetch: typeof fetch = (input, init) => {
  abortOverdueWork();
  return fetch(input, init);
};

/**
 * Returns a fetch that allows a provider to send nothing for `ms`, if this Node version supports it. Node's
 * default limit, five minutes, is too short for models on small machines; ModelExchange sets its own
 * deadlines (XC1, exchange.ts).
 */
export function fetchFor(ms: number): typeof fetch {
  if (ms < NODE_TIMEOUT_MS) return checkedFetch;
  unlimitedFetch ??= fetchWith(0);
  return unlimitedFetch;
}

/** Returns a fetch that fails if the provider sends nothing for `silenceMs`; 0 means no limit. */
export function fetchWith(silenceMs: number): typeof fetch {
  // Node creates its dispatcher at the first use.
  void fetch('data:,').catch(() => {});
  const dispatcherInUse = (globalThis as Record<symbol, unknown>)[dispatcherKey] as object | undefined;
  const Dispatcher = dispatcherInUse?.constructor as MakeDispatcher | undefined;
  if (Dispatcher === undefined) return checkedFetch;
  const dispatcher = new Dispatcher({ headersTimeout: silenceMs, bodyTimeout: silenceMs });
  return (input, init) => checkedFetch(input, { ...init, dispatcher } as RequestInit);
}

export interface ProviderModelsOptions {
  readonly providers: Providers;
  readonly prices: Prices;
  readonly log: Log;
  /** Limits that take precedence over the provider's settings. */
  readonly limits?: ExchangeLimits & { readonly maxAnswerSize?: number };
  /** First pause between retries. @default 500 */
  readonly firstPauseMs?: number;
}

export class ProviderModels implements LoadableModels {
  readonly #options: ProviderModelsOptions;
  /** Last logged permanent failure per model, so that it is logged once per outage. */
  readonly #refusals = new Map<string, string>();
  readonly #known = new KnownModels();
  /** Logged omissions of tools, by model and tool. */
  readonly #omissions = new Map<string, true>();

  constructor(options: ProviderModelsOptions) {
    this.#options = options;
  }

  async ask(request: ModelRequest, options: ModelRequestOptions): Promise<ModelAnswer> {
    options.signal.throwIfAborted();
    const { firstPauseMs } = this.#options;
    return await repeatRequest(
      {
        ...options,
        onRefusal: (...refusal) => this.#logRefusal(...refusal),
        ...(firstPauseMs === undefined ? {} : { firstPauseMs }),
      },
      (model, remainingMs) => this.#answer(request, model, remainingMs, options),
    );
  }

  async prepare(models: readonly ModelName[]): Promise<void> {
    const byProvider = new Map(models.map(({ provider, model }) => [provider, model]));
    for (const [provider, model] of byProvider) {
      const settings = this.#options.providers.get(provider);
      if (settings !== undefined) await rehearse(settings, model);
    }
  }

  /** Repeats a request without the parts that the provider refuses. */
  async #answer(
    request: ModelRequest,
    name: ModelName,
    remainingMs: number,
    options: ModelRequestOptions,
  ): Promise<ModelAnswer> {
    const settings = this.#options.providers.get(name.provider);
    if (settings === undefined)
      throw new ModelFaultError({
        description: 'has an unknown provider',
        isFinal: true,
        mayFallbackAnswer: true,
      });
    const until = performance.now() + remainingMs;
    let firstFault: ModelFaultError | undefined;
    const parts = new ModelRequestParts(request, settings.type, this.#known.traitsOf(nameOf(name)));
    for (;;) {
      try {
        const answer = await this.#send(parts, name, settings, until - performance.now(), options);
        this.#logOmissions(nameOf(name), parts);
        return answer;
      } catch (error) {
        if (!(error instanceof ModelFaultError)) throw error;
        const canRepeat = until - performance.now() > 0;
        // The first fault names the refused part.
        if (!canRepeat || !parts.omit(error.fault))
          throw concernsRequest(error) ? (firstFault ?? error) : error;
        firstFault ??= error;
        options.onRetry?.(faultText(name, error.fault.description), 0);
      }
    }
  }

  async #send(
    parts: ModelRequestParts,
    name: ModelName,
    settings: ResolvedProvider,
    remainingMs: number,
    { signal, onText }: ModelRequestOptions,
  ): Promise<ModelAnswer> {
    const { askOnce } = await loadClient('its client', () => import('./send-request.ts'));
    signal.throwIfAborted();
    const limits = { ...silenceOf(settings), ...this.#options.limits };
    const exchange = new ModelExchange({
      limits,
      hasNoKey: settings.api_key === undefined,
      tools: parts.forms.map(({ tool }) => tool.name),
      repair: eventRepair(settings.type),
      // Node's own time limit must not be shorter than the exchange's limits.
      send: fetchFor(Math.max(limits.firstByteMs ?? 0, limits.idleMs ?? 0)),
    });
    const stop = () => exchange.end();
    signal.addEventListener('abort', stop, { once: true });
    const timeoutFault = {
      description: `did not answer within ${Math.round(remainingMs)} ms`,
      isFinal: false,
    };
    const timer = setTimeout(
      () => exchange.end(timeoutFault),
      Math.min(Math.ceil(remainingMs), LONGEST_TIMER_MS),
    );
    const startedAt = performance.now();
    try {
      const model = nameOf(name);
      const answer = await askOnce(parts.request, parts.forms, {
        settings,
        model: name.model,
        exchange,
        onText,
        traits: this.#known.traitsOf(model),
        maxAnswerSize: limits.maxAnswerSize,
      });
      this.#refusals.delete(model);
      const cost = costOf(model, answer.usage, this.#options.prices);
      const { omitted } = parts;
      return {
        ...answer,
        model,
        cost,
        tookMs: Math.round(performance.now() - startedAt),
        ...(omitted.length === 0 ? {} : { omitted }),
      };
    } catch (error) {
      throw faultOf(error, exchange);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      exchange.end();
    }
  }

  /** Logs each omitted tool once. */
  #logOmissions(model: string, parts: ModelRequestParts): void {
    if (parts.remember())
      this.#options.log.warn({ model }, 'model refuses images; sending their descriptions instead');
    for (const { tool, reason } of parts.omitted) {
      const key = `${model} ${tool} ${reason}`;
      if (this.#omissions.has(key)) continue;
      this.#omissions.set(key, true);
      deleteOldest(this.#omissions, MAX_REFUSALS);
      this.#options.log.warn(
        { model, tool, reason },
        'model cannot use a tool; requesting answers without it',
      );
    }
  }

  #logRefusal(name: ModelName, description: string, nextName: ModelName): void {
    const [model, next] = [nameOf(name), nameOf(nextName)];
    if (this.#refusals.get(model) === description) return;
    this.#refusals.set(model, description);
    deleteOldest(this.#refusals, MAX_REFUSALS);
    this.#options.log.error(
      { model, next, reason: description },
      'model fails permanently; using its fallback',
    );
  }
}

const concernsRequest = ({ fault }: ModelFaultError) => fault.isFinal && fault.mayFallbackAnswer !== true;

/** Limit of remembered log lines. */
const MAX_REFUSALS = 1_000;

function silenceOf({ timeout_seconds }: ResolvedProvider): ExchangeLimits {
  if (timeout_seconds === undefined) return {};
  const ms = timeout_seconds * 1000;
  return { firstByteMs: ms, idleMs: ms };
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Converts an error to a fault. A fault of the exchange has priority: client libraries wrap or omit it, and
 * their messages repeat the request.
 */
function faultOf(error: unknown, exchange: ModelExchange): ModelFaultError {
  if (exchange.fault !== undefined) return new ModelFaultError(exchange.fault);
  if (error instanceof ModelFaultError) return error;
  const hasAnswered = exchange.hasAnswered;
  return new ModelFaultError(
    hasAnswered
      ? { description: 'violated its protocol, or reported an error in its stream', isFinal: false }
      : {
          description: 'cannot receive this conversation: the client of its protocol rejects it',
          isFinal: true,
        },
  );
}
