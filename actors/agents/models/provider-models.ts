// The models of all providers that the gateway knows: an answer of the first that gives one, with what it cost. The clients are
// loaded at the first question, so that a gateway in which no model is asked never has them.
//
// PW1  an answer that is given up, for whatever reason, leaves no socket and no timer.
// PW2  a model that refuses for good is told of in the log, though another one answers in its place: once, until it answers again.

import type { Prices } from '../../../config/gateway-file/provider-schema.ts';
import type { Providers, ResolvedProvider } from '../../../config/gateway-file/providers.ts';
import type { ModelName } from '../../../config/resources/agents/model-runtime.ts';
import { endWhatIsOver } from '../../../libs/rest/standstill.ts';
import type { Usage } from '../../../machines/agent-run/journal.ts';
import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import type { Log } from '../../base/errors/log.ts';
import { Exchange, type ExchangeLimits } from './exchange.ts';
import type { AskOptions, ModelAnswer, ModelRequest, Models } from './model.ts';
import { ModelFaultError, nameOf } from './model-errors.ts';
import { loaded } from './providers.ts';
import { repeated } from './repeat.ts';

/** Returns the cost in the unit of the prices, which operators configure; undefined without price or usage figures. */
export function costOf(
  name: string,
  { input, output, cached = 0 }: Usage,
  prices: Prices,
): number | undefined {
  const price = Object.hasOwn(prices, name) ? prices[name] : undefined;
  if (price === undefined || input === undefined || output === undefined) return undefined;
  const fromCache = Math.min(cached, input);
  const of = (input - fromCache) * price.input + fromCache * (price.cached_input ?? price.input);
  return (of + output * price.output) / 1_000_000;
}

/** Default of Node's fetch. */
const PATIENCE_MS = 300_000;
const dispatcherKey = Symbol.for('undici.globalDispatcher.1');

type MakeDispatcher = new (options: {
  readonly headersTimeout: number;
  readonly bodyTimeout: number;
}) => object;

let patient: typeof fetch | undefined;

/** Fires overdue deadlines before the request, because the process may have been suspended (libs/rest/standstill.ts). */
const lookedFetch: typeof fetch = (input, init) => {
  endWhatIsOver();
  return fetch(input, init);
};

/**
 * Returns a fetch that tolerates silences of at least `ms`, if this Node version allows it. Node's limit, five minutes, is too
 * short for models on small machines; callers set deadlines (XC1).
 */
export function fetchFor(ms: number): typeof fetch {
  if (ms < PATIENCE_MS) return lookedFetch;
  patient ??= fetchWith(0);
  return patient;
}

/** `silenceMs` 0 means no limit. */
export function fetchWith(silenceMs: number): typeof fetch {
  // Node creates its dispatcher at the first use.
  void fetch('data:,').catch(() => {});
  const used = (globalThis as Record<symbol, unknown>)[dispatcherKey] as object | undefined;
  const Dispatcher = used?.constructor as MakeDispatcher | undefined;
  if (Dispatcher === undefined) return lookedFetch;
  const dispatcher = new Dispatcher({ headersTimeout: silenceMs, bodyTimeout: silenceMs });
  return (input, init) => lookedFetch(input, { ...init, dispatcher } as RequestInit);
}

export interface ProviderModelsOptions {
  readonly providers: Providers;
  readonly prices: Prices;
  readonly log: Log;
  /** Before those of a provider. */
  readonly limits?: ExchangeLimits & { readonly maxAnswerSize?: number };
  /** Of the pauses between retries. @default 500 */
  readonly firstPauseMs?: number;
}

export class ProviderModels implements Models {
  readonly #options: ProviderModelsOptions;
  /** What was told of those that refuse. */
  readonly #refusals = new Map<string, string>();

  constructor(options: ProviderModelsOptions) {
    this.#options = options;
  }

  async ask(request: ModelRequest, options: AskOptions): Promise<ModelAnswer> {
    options.signal.throwIfAborted();
    const { firstPauseMs } = this.#options;
    return await repeated(
      {
        ...options,
        onRefusal: (...refusal) => this.#tellOf(...refusal),
        ...(firstPauseMs === undefined ? {} : { firstPauseMs }),
      },
      (model, leftMs) => this.#answer(request, model, leftMs, options),
    );
  }

  async #answer(
    request: ModelRequest,
    name: ModelName,
    leftMs: number,
    { signal, onText }: AskOptions,
  ): Promise<ModelAnswer> {
    const settings = this.#options.providers.get(name.provider);
    if (settings === undefined)
      throw new ModelFaultError({
        what: 'is of a provider that is not known',
        isFinal: true,
        canOtherAnswer: true,
      });
    const { askOnce } = await loaded('its client', () => import('./ask-once.ts'));
    signal.throwIfAborted();
    const limits = { ...silenceOf(settings), ...this.#options.limits };
    const send = fetchFor(Math.max(limits.firstByteMs ?? 0, limits.idleMs ?? 0));
    const exchange = new Exchange(limits, settings.api_key === undefined, send);
    const stop = () => exchange.end();
    signal.addEventListener('abort', stop, { once: true });
    const gaveNone = { what: `gave no answer within ${Math.round(leftMs)} ms`, isFinal: false };
    const timer = setTimeout(() => exchange.end(gaveNone), Math.min(Math.ceil(leftMs), LONGEST_TIMER_MS));
    const began = performance.now();
    try {
      const answer = await askOnce(request, {
        settings,
        model: name.model,
        exchange,
        onText,
        maxAnswerSize: limits.maxAnswerSize,
      });
      const model = nameOf(name);
      this.#refusals.delete(model);
      const cost = costOf(model, answer.usage, this.#options.prices);
      return { ...answer, model, cost, tookMs: Math.round(performance.now() - began) };
    } catch (error) {
      throw faultOf(error, exchange);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      exchange.end();
    }
  }

  #tellOf(name: ModelName, what: string, nextName: ModelName): void {
    const [model, next] = [nameOf(name), nameOf(nextName)];
    if (this.#refusals.get(model) === what) return;
    this.#refusals.set(model, what);
    forgetOldest(this.#refusals, MAX_REFUSALS);
    this.#options.log.error(
      { model, next, reason: what },
      'a model refuses; its fallback is asked until that is mended',
    );
  }
}

/** Models that are told of once. */
const MAX_REFUSALS = 1_000;

function silenceOf({ timeout_seconds }: ResolvedProvider): ExchangeLimits {
  if (timeout_seconds === undefined) return {};
  const ms = timeout_seconds * 1000;
  return { firstByteMs: ms, idleMs: ms };
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** What the exchange knows comes first: the clients wrap it, or leave it out. Their own words repeat what was sent. */
function faultOf(error: unknown, exchange: Exchange): ModelFaultError {
  if (exchange.fault !== undefined) return new ModelFaultError(exchange.fault);
  if (error instanceof ModelFaultError) return error;
  const hasAnswered = exchange.hasAnswered;
  return new ModelFaultError(
    hasAnswered
      ? { what: 'answered what is not its protocol, or reported an error in its stream', isFinal: false }
      : { what: 'cannot be sent what was said: the client of its protocol refuses it', isFinal: true },
  );
}
