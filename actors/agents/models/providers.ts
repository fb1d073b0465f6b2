// Creates the client for a provider's protocol; its library is loaded with the first client. Every value
// that a client could read from the environment is passed explicitly: key and address come from the settings.
// A missing key is passed as an empty text, and exchange.ts removes the header with it. If the protocol
// supports it, requests disable the storage of answers at the provider.

import type { LanguageModelV3, SharedV3ProviderOptions } from '@ai-sdk/provider';
import type { ResolvedProvider } from '../../../config/gateway-file/providers.ts';
import { describeLoadError } from '../../base/errors/load-error.ts';
import { ModelFaultError } from './model-errors.ts';

/** Loads a client library. Rejects with a temporary ModelFaultError: the installation can be repaired. */
export async function loadClient<Client>(label: string, load: () => Promise<Client>): Promise<Client> {
  try {
    return await load();
  } catch (error) {
    const fault = {
      description: `cannot be used: ${label} ${describeLoadError(error)}`,
      isFinal: false,
      isUnusableNow: true,
    };
    throw new ModelFaultError(fault);
  }
}

export async function createClient(
  settings: ResolvedProvider,
  model: string,
  fetch: typeof globalThis.fetch,
): Promise<LanguageModelV3> {
  const { base_url: baseURL, headers, api_key: apiKey = '' } = settings;
  const common = { baseURL, headers: { ...headers }, apiKey, fetch };
  const label = `the client of ${settings.type}`;
  if (settings.type === 'openai')
    return (await loadClient(label, () => import('@ai-sdk/openai'))).createOpenAI(common)(model);
  if (settings.type === 'anthropic')
    return (await loadClient(label, () => import('@ai-sdk/anthropic'))).createAnthropic(common)(model);
  if (settings.type === 'google')
    return (await loadClient(label, () => import('@ai-sdk/google'))).createGoogleGenerativeAI(common)(model);
  const { createOpenAICompatible } = await loadClient(label, () => import('@ai-sdk/openai-compatible'));
  return createOpenAICompatible({
    ...common,
    name: COMPATIBLE,
    includeUsage: true,
    supportsStructuredOutputs: settings.structured_output === 'json_schema',
  })(model);
}

/** Member of `providerOptions` for OpenAI-compatible providers. */
const COMPATIBLE = 'compatible';

/** Not strict: schemas rarely fit the subset that providers can guarantee. Callers validate the answers. */
export const providerOptions: SharedV3ProviderOptions = {
  openai: { store: false, strictJsonSchema: false },
  [COMPATIBLE]: { strictJsonSchema: false },
};
