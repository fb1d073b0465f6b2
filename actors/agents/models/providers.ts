// The client of each provider's protocol, loaded when a model of it is asked for the first time.
//
// PQ1  all that a client could look up in the environment is given: key and address come from the settings, and where there is
//      no key none is sent.
// PQ2  an answer is not kept at the provider where that can be said, so a run can go on from its journal alone.

import type { LanguageModelV3, SharedV3ProviderOptions } from '@ai-sdk/provider';
import type { ResolvedProvider } from '../../../config/gateway-file/providers.ts';
import { installationFault } from '../../base/errors/installation-fault.ts';
import { ModelFaultError } from './model-errors.ts';

/** Returns the result of `load`. Rejects with a temporary ModelFaultError, because a repaired installation can load it. */
export async function loaded<Loaded>(what: string, load: () => Promise<Loaded>): Promise<Loaded> {
  try {
    return await load();
  } catch (error) {
    const fault = {
      what: `cannot be asked: ${what} ${installationFault(error)}`,
      isFinal: false,
      isUsedUp: true,
    };
    throw new ModelFaultError(fault);
  }
}

export async function modelClient(
  settings: ResolvedProvider,
  model: string,
  fetch: typeof globalThis.fetch,
): Promise<LanguageModelV3> {
  const { base_url: baseURL, headers, api_key: apiKey = '' } = settings;
  const common = { baseURL, headers: { ...headers }, apiKey, fetch };
  const what = `the client of ${settings.type}`;
  if (settings.type === 'openai')
    return (await loaded(what, () => import('@ai-sdk/openai'))).createOpenAI(common)(model);
  if (settings.type === 'anthropic')
    return (await loaded(what, () => import('@ai-sdk/anthropic'))).createAnthropic(common)(model);
  if (settings.type === 'google')
    return (await loaded(what, () => import('@ai-sdk/google'))).createGoogleGenerativeAI(common)(model);
  const { createOpenAICompatible } = await loaded(what, () => import('@ai-sdk/openai-compatible'));
  return createOpenAICompatible({
    ...common,
    name: COMPATIBLE,
    includeUsage: true,
    supportsStructuredOutputs: settings.structured_output === 'json_schema',
  })(model);
}

/** Under which the client finds its options. */
const COMPATIBLE = 'compatible';

/** Schemas are those of operators, seldom in the subset that a provider could promise to keep: whoever asks checks them. */
export const providerOptions: SharedV3ProviderOptions = {
  openai: { store: false, strictJsonSchema: false },
  [COMPATIBLE]: { strictJsonSchema: false },
};
