// The models of all providers that the gateway knows: an answer of the first that gives one, with what it cost. The clients are
// loaded at the first question, so that a gateway in which no model is asked never has them.
//
// PW1  an answer that is given up, for whatever reason, leaves no socket and no timer.

import type { Prices } from '../../config/gateway-file/provider-schema.ts';
import type { Providers } from '../../config/gateway-file/providers.ts';
import type { ModelName } from '../../config/resources/agents/model-runtime.ts';
import { Exchange, type ExchangeLimits } from './exchange.ts';
import type { AskOptions, ModelAnswer, ModelRequest, Models } from './model.ts';
import { ModelFaultError, nameOf } from './model-errors.ts';
import { costOf } from './prices.ts';
import { repeated } from './repeat.ts';

export interface ProviderModelsOptions {
  readonly providers: Providers;
  readonly prices: Prices;
  readonly limits?: ExchangeLimits & { readonly maxAnswerSize?: number };
  /** Of the pauses between retries. @default 500 */
  readonly firstPauseMs?: number;
}

export class ProviderModels implements Models {
  readonly #options: ProviderModelsOptions;

  constructor(options: ProviderModelsOptions) {
    this.#options = options;
  }

  async ask(request: ModelRequest, options: AskOptions): Promise<ModelAnswer> {
    options.signal.throwIfAborted();
    const { firstPauseMs } = this.#options;
    return await repeated(
      { ...options, ...(firstPauseMs === undefined ? {} : { firstPauseMs }) },
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
      throw new ModelFaultError({ what: 'is of a provider that is not known', isFinal: true });
    const { askOnce } = await import('./ask-once.ts');
    signal.throwIfAborted();
    const { limits = {} } = this.#options;
    const exchange = new Exchange(limits, settings.api_key === undefined);
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
